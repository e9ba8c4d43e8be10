import Type, { type Static } from 'typebox'
import { input, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { MessageRow } from './tables.ts'

/** Of a text [characters]; in UTF-8 it fits a datagram all the same (RFC 3428 §8). */
const MAX_TEXT = 1000
export const MAX_TEXT_BYTES = 1300

export const messageSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('message'),
  livemode: Type.Boolean(),
  direction: oneOf(['inbound', 'outbound']),
  from_user_id: nullable(
    Type.String({ description: "Whose phone has sent it, or in whose name; null: the organisation's." }),
  ),
  to_user_id: nullable(Type.String({ description: 'Whose phones it is for; null: it was sent to the organisation.' })),
  to: nullable(Type.String({ description: 'What the phone has called; null: it was sent by the API.' })),
  text: Type.String({
    description: 'As it is kept: what the rules of `redaction` take out stands here in their form.',
  }),
  status: oneOf(['received', 'queued', 'delivered', 'failed']),
  sip_code: nullable(
    Type.Integer({ description: "The phone's answer; 408 when it was silent, 503 when it could not be reached." }),
  ),
  created: timestamp(),
})
export type Message = Static<typeof messageSchema>

export const messageBody = input({
  to_user_id: Type.String({ minLength: 1, maxLength: 200, description: 'The member whose phones get it.' }),
  text: Type.String({ minLength: 1, maxLength: MAX_TEXT, description: 'At most 1300 bytes in UTF-8.' }),
  from_user_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The member whom answers go to. Absent: the organisation.',
    }),
  ),
})

export const toMessage = (row: MessageRow): Message =>
  showRow(messageSchema, row, {
    direction: row.to_address === null ? 'outbound' : 'inbound',
    to: row.to_address,
  })
