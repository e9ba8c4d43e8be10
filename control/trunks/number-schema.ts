import Type, { type Static } from 'typebox'
import { nullable, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { PhoneNumberRow } from './tables.ts'

export const phoneNumberSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('phone_number'),
  livemode: Type.Boolean(),
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
