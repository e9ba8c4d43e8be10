import Type, { type Static } from 'typebox'
import { nullable, timestamp } from '../../kernel/schema.ts'
import { showRow } from '../../kernel/show-row.ts'
import type { RecordingRow } from '../tables.ts'

export const callRecordingSchema = Type.Object({
  object: Type.Literal('call_recording'),
  call_id: Type.String(),
  livemode: Type.Boolean(),
  status: Type.String({ description: 'recording, paused, ready, failed' }),
  content_type: Type.Literal('audio/wav'),
  sample_rate: nullable(Type.Integer()),
  duration_ms: nullable(Type.Integer()),
  size_bytes: nullable(Type.Integer()),
  channels: Type.Array(
    Type.Object({
      kind: Type.String({ description: 'participant; product: audio and speech of the product itself' }),
      participant_id: nullable(Type.String()),
    }),
    {
      description:
        "The file's channels in order: one for each participant, then one for prompts, assistant and hold audio.",
    },
  ),
  segments: Type.Array(Type.Object({ from_ms: Type.Integer(), to_ms: Type.Integer(), reason: Type.String() }), {
    description: 'Silence from card-payment pauses, and from pauses of the recording (reason `paused`).',
  }),
  created: timestamp(),
})

export type CallRecording = Static<typeof callRecordingSchema>

export const toCallRecording = (row: RecordingRow): CallRecording =>
  showRow(callRecordingSchema, row, {
    status: row.status === 'recording' && row.paused === 1 ? 'paused' : row.status,
    content_type: 'audio/wav',
    channels: (JSON.parse(row.channels) as { participant_id: string | null }[]).map(({ participant_id }) => ({
      kind: participant_id === null ? 'product' : 'participant',
      participant_id,
    })),
  })
