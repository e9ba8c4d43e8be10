import Type, { type Static } from 'typebox'
import { nullable, timestamp } from '../http/schema.ts'
import type { TranscriptRow, TranscriptSegmentRow } from '../live/tables.ts'

const segmentSchema = Type.Object({
  participant_id: Type.String(),
  text: Type.String(),
  start_ms: Type.Integer({ description: 'From the beginning of the transcript [ms].' }),
  end_ms: Type.Integer(),
})

/** What was said in a call. Nothing of a card-payment pause is in it. */
export const callTranscriptSchema = Type.Object({
  object: Type.Literal('call_transcript'),
  call_id: Type.String(),
  livemode: Type.Boolean(),
  status: Type.String({ description: 'wanted, running, ready, failed' }),
  failed_reason: nullable(Type.String({ description: 'Why nothing was written down.' })),
  language: nullable(Type.String()),
  duration_ms: nullable(Type.Integer()),
  segments: Type.Array(segmentSchema, { description: 'In the order in which they began.' }),
  created: timestamp(),
})

export type CallTranscript = Static<typeof callTranscriptSchema>

export const toCallTranscript = (
  row: TranscriptRow,
  segments: readonly Pick<TranscriptSegmentRow, 'participant_id' | 'text' | 'start_ms' | 'end_ms'>[],
): CallTranscript => ({
  object: 'call_transcript',
  call_id: row.id,
  livemode: row.livemode === 1,
  status: row.status,
  failed_reason: row.failed_reason,
  language: row.language,
  duration_ms: row.duration_ms,
  segments: segments.map(({ participant_id, text, start_ms, end_ms }) => ({ participant_id, text, start_ms, end_ms })),
  created: row.created,
})
