import Type, { type Static } from 'typebox'
import { nullable, timestamp } from '../../kernel/schema.ts'
import { showRow } from '../../kernel/show-row.ts'
import type { CopilotMessageRow } from '../tables.ts'

/** A message to the desktop. */
export const copilotMessageSchema = Type.Object({
  id: Type.String({ description: 'Order in the session; `Last-Event-ID` of its stream.' }),
  object: Type.Literal('copilot_message'),
  livemode: Type.Boolean(),
  session_id: Type.String(),
  type: Type.String({
    description:
      'stage, checklist, objection, card, field, nudge, alert, compliance, script, transcript, sentiment, summary',
  }),
  path: Type.String({ description: 'fast: by words, figures and search; deep: by a model' }),
  at: timestamp(),
  utterance_ids: Type.Array(Type.String(), { description: 'The party whose words led to it.' }),
  latency_ms: nullable(Type.Integer({ description: 'Time from the end of the words; null: no words led to it.' })),
  replaces: nullable(Type.String({ description: 'The message that it replaces.' })),
  withdraws: nullable(Type.String({ description: 'The message that is withdrawn; `data` is then empty.' })),
  data: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'Depends on `type`: see the page "copilot" of the documentation.',
  }),
})
/** Messages after one that the client has, oldest first. */
export const copilotFeedSchema = Type.Object({
  object: Type.Literal('copilot_feed'),
  livemode: Type.Boolean(),
  session_id: Type.String(),
  messages: Type.Array(copilotMessageSchema),
  has_more: Type.Boolean(),
})
type CopilotMessage = Static<typeof copilotMessageSchema>

export const toMessage = (row: CopilotMessageRow): CopilotMessage =>
  showRow(copilotMessageSchema, row, { data: JSON.parse(row.body) })

const SESSION_PREFIX = 'cops_'.length
/** Characters of an ID after its prefix. The last ones are the message's number in base 36. */
const ID_CHARS = 26
const COUNT_CHARS = 6

/** The ID of a session's message, derived from its number, so that writing it twice would be the same row. */
export const messageId = (sessionId: string, seq: number): string =>
  `copm_${sessionId.slice(SESSION_PREFIX, SESSION_PREFIX + ID_CHARS - COUNT_CHARS)}${seq.toString(36).padStart(COUNT_CHARS, '0')}`

/** The number of a message; null: it is not of this session. */
export function seqOf(sessionId: string, id: string): number | null {
  const seq = Number.parseInt(id.slice(-COUNT_CHARS), 36)
  return Number.isSafeInteger(seq) && messageId(sessionId, seq) === id ? seq : null
}
