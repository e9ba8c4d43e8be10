import Type, { type Static } from 'typebox'
import { apiObject, nullable, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { VoicemailRow } from './voicemail/tables.ts'

/** A message that a caller left; its audio is `GET /voicemails/{id}/content`. */
export const voicemailSchema = apiObject('voicemail', {
  call_id: Type.String(),
  queue_id: nullable(Type.String()),
  user_id: nullable(Type.String()),
  from: Type.String(),
  status: Type.String({ description: 'recording, ready, failed' }),
  duration_ms: nullable(Type.Integer()),
  created: timestamp(),
})

export type Voicemail = Static<typeof voicemailSchema>

export const toVoicemail = (row: VoicemailRow): Voicemail => showRow(voicemailSchema, row, { from: row.from_address })
