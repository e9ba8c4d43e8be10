import Type, { type Static } from 'typebox'
import { apiObject, nullable, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { PhoneNumberRow } from './tables.ts'

export const phoneNumberSchema = apiObject('phone_number', {
  number: Type.String({ description: 'E.164' }),
  connection_id: nullable(Type.String({ description: 'First for calls from it; if it is a payment line, to it too.' })),
  payment_line: Type.Boolean({
    description: 'A participant on this number receives the keys during a card-payment pause.',
  }),
  created: timestamp(),
  updated: timestamp(),
})

export type PhoneNumber = Static<typeof phoneNumberSchema>

export const toPhoneNumber = (row: PhoneNumberRow): PhoneNumber => showRow(phoneNumberSchema, row)
