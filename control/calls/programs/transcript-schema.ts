import Type, { type Static } from 'typebox'
import { nullable, timestamp } from '../../kernel/schema.ts'
import { showRow } from '../../kernel/show-row.ts'
import type { TranscriptRow, TranscriptSegmentRow } from './tables.ts'

const SPEAKER = 'participant; product: the assistant and all other speech of the product'

const segmentFields = {
  speaker: Type.String({ description: SPEAKER }),
  participant_id: Type.String({
    description: 'Who spoke. For the product, the listener; the first one if everybody hears it.',
  }),
  text: Type.String(),
  start_ms: Type.Integer({ description: 'From the beginning of the transcript [ms].' }),
  end_ms: Type.Integer(),
}

/** One line of a running call's transcript, as it is written. */
export const callTranscriptSegmentSchema = Type.Object({
  object: Type.Literal('call_transcript_segment'),
  id: Type.String(),
  call_id: Type.String(),
  livemode: Type.Boolean(),
  ...segmentFields,
})

export type CallTranscriptSegment = Static<typeof callTranscriptSegmentSchema>

/** What was said in a call. It has nothing of a card-payment pause. */
export const callTranscriptSchema = Type.Object({
  object: Type.Literal('call_transcript'),
  call_id: Type.String(),
  livemode: Type.Boolean(),
  status: Type.String({ description: 'wanted, running, ready, failed' }),
  failed_reason: nullable(Type.String({ description: 'Why there is no transcript.' })),
  language: nullable(Type.String()),
  duration_ms: nullable(Type.Integer()),
  segments: Type.Array(Type.Object(segmentFields), { description: 'In the order in which they began.' }),
  created: timestamp(),
})

export type CallTranscript = Static<typeof callTranscriptSchema>

type SegmentColumns = Pick<TranscriptSegmentRow, 'speaker' | 'participant_id' | 'text' | 'start_ms' | 'end_ms'>

const lineOf = ({ speaker, participant_id, text, start_ms, end_ms }: SegmentColumns) => ({
  speaker,
  participant_id,
  text,
  start_ms,
  end_ms,
})

export const toCallTranscriptSegment = (row: TranscriptSegmentRow): CallTranscriptSegment =>
  showRow(callTranscriptSegmentSchema, row, { ...lineOf(row) })

export const toCallTranscript = (row: TranscriptRow, segments: readonly SegmentColumns[]): CallTranscript =>
  showRow(callTranscriptSchema, row, { call_id: row.id, segments: segments.map(lineOf) })
