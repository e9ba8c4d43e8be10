import { type EventKind, eventKind as of } from '../../../control/kernel/events/catalog.ts'
import { CREATED } from '../../../control/kernel/events/sample-call.ts'
import { type Reminder, reminderSchema } from './schema.ts'

const reminder: Reminder = {
  id: 'rem_01k90000000000000000000001',
  object: 'reminder',
  livemode: true,
  text: 'Water the plants.',
  created: CREATED,
  updated: CREATED,
}

export const reminderEvents = {
  'reminder.created': of(reminderSchema, reminder),
} as const satisfies Record<string, EventKind>

declare module '../../../control/kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof reminderEvents, true> {}
}
