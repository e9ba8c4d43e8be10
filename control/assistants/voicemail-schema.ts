import Type, { type Static } from 'typebox'
import { nullable, timestamp } from '../kernel/schema.ts'
import type { VoicemailRow } from './voicemail/tables.ts'

/** A message that a caller left; its audio is `GET /voicemails/{id}/content`. */
export const voicemailSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('voicemail'),
  livemode: Type.Boolean(),
  call_id: Type.String(),
  queue_id: nullable(Type.String()),
  user_id: nullable(Type.String()),
  from: Type.String(),
  status: Type.String({ description: 'recording, ready, failed' }),
  duration_ms: nullable(Type.Integer()),
  created: timestamp(),
})

export type Voicemail = Static<typeof voicemailSchema>

export const toVoicemail = (row: VoicemailRow): Voicemail => ({
  id: row.id,
  object: 'voicemail',
  livemode: row.livemode === 1,
  call_id: row.call_id,
  queue_id: row.queue_id,
  user_id: row.user_id,
  from: row.from_address,
  status: row.status,
  duration_ms: row.duration_ms,
  created: row.created,
})
