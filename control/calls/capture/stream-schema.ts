import Type, { type Static } from 'typebox'
import { apiObject, nullable, timestamp } from '../../kernel/schema.ts'
import { showRow } from '../../kernel/show-row.ts'
import type { MediaStreamRow } from '../tables.ts'

/** Specification, "MediaStream". */
export const mediaStreamSchema = apiObject('media_stream', {
  call_id: Type.String(),
  mode: Type.String({
    description:
      'fork: the receiver hears the call. bidirectional: also, its audio is played to the party it listens to, or in the room.',
  }),
  url: Type.String(),
  tracks: Type.String({ description: 'inbound, outbound, both' }),
  format: Type.String({ description: 'mulaw_8000, l16_16000, l16_8000' }),
  custom_parameters: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
  status: Type.String({
    description:
      'connecting, streaming, stalled (the receiver does not answer pings or does not read), reconnecting, stopped, failed',
  }),
  frames_sent: Type.Integer({ description: '20 ms frames sent so far, all tracks.' }),
  frames_dropped: Type.Integer({ description: 'Frames dropped because the receiver did not keep up.' }),
  frames_received: Type.Integer({ description: 'For a bidirectional stream: 20 ms frames received for playback.' }),
  frames_refused: Type.Integer({ description: 'Those that were dropped because 60 s of audio were already queued.' }),
  ended_reason: nullable(
    Type.String({ description: 'call_ended, stopped, receiver_closed, connect_failed (also after a fault of ours)' }),
  ),
  ended_detail: nullable(
    Type.String({
      description:
        'What the last try to connect met or what ended the last connection, or that the receiver sent too long a message.',
    }),
  ),
  created: timestamp(),
})

export type MediaStream = Static<typeof mediaStreamSchema>

export const toMediaStream = (row: MediaStreamRow): MediaStream =>
  showRow(mediaStreamSchema, row, { custom_parameters: JSON.parse(row.custom_parameters) as Record<string, string> })
