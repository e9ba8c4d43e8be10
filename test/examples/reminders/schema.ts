import Type, { type Static } from 'typebox'
import { apiObject, input, timestamp } from '../../../control/kernel/schema.ts'
import { showRow } from '../../../control/kernel/show-row.ts'
import type { ReminderRow } from './tables.ts'

const text = Type.String({ minLength: 1, maxLength: 200, description: 'What to think of.' })

export const reminderSchema = apiObject('reminder', {
  text,
  created: timestamp(),
  updated: timestamp(),
})
export type Reminder = Static<typeof reminderSchema>

export const createBody = input({ text })
export const changeBody = input({ text: Type.Optional(text) })

export const toReminder = (row: ReminderRow): Reminder => showRow(reminderSchema, row)
