import Type, { type Static } from 'typebox'
import { apiObject, input, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { MessageRow } from './tables.ts'

/** Maximum length of a text [characters]; in UTF-8 it still fits a datagram (RFC 3428 §8). */
const MAX_TEXT = 1000
export const MAX_TEXT_BYTES = 1300

export const messageSchema = apiObject('message', {
  direction: oneOf(['inbound', 'outbound']),
  from_user_id: nullable(
    Type.String({
      description: 'The member whose phone sent it, or in whose name it was sent; null: the organisation.',
    }),
  ),
  to_user_id: nullable(
    Type.String({ description: 'The member whose phones it is for; null: it was sent to the organisation.' }),
  ),
  to: nullable(Type.String({ description: 'The address that the phone sent it to; null: it was sent by the API.' })),
  text: Type.String({ description: 'As stored: the rules of `redaction` have been applied.' }),
  status: oneOf(['received', 'queued', 'delivered', 'failed']),
  sip_code: nullable(Type.Integer({ description: "The phone's answer; 408: no answer, 503: not reached." })),
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
      description: 'The member who gets replies. Absent: the organisation.',
    }),
  ),
})

export const toMessage = (row: MessageRow): Message =>
  showRow(messageSchema, row, { direction: row.to_address === null ? 'outbound' : 'inbound', to: row.to_address })
