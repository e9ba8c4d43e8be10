import Type, { type Static } from 'typebox'
import type { LegAudio } from '../../media/protocol.ts'
import { apiObject, idParams, nullable, timestamp } from '../kernel/schema.ts'
import { cause, toCause } from './cause-schema.ts'
import { participantAudio, toAudio } from './sound/audio-schema.ts'
import { STEPS } from './steps/table.ts'
import type { CallRow, ParticipantRow } from './tables.ts'

export const participantSchema = apiObject('participant', {
  call_id: Type.String({ description: 'The call of this phone alone.' }),
  session_call_id: nullable(Type.String({ description: 'The conference session where it is or was.' })),
  room_id: nullable(Type.String()),
  status: Type.String({ description: 'connecting, waiting (for the PIN, a moderator, an agent), joined, left' }),
  role: Type.String({
    description: 'member, moderator; in the call of a device that was rung: agent, party, supervisor',
  }),
  address: Type.String({ description: 'Number or SIP URI of the other end; for an agent, the user ID.' }),
  direction: Type.String({ description: 'inbound, outbound' }),
  muted: Type.Boolean(),
  deaf: Type.Boolean(),
  held: Type.Boolean(),
  audio: participantAudio,
  joined_at: nullable(timestamp("Null: not yet, or the call's own party outside of a conference.")),
  left_at: nullable(timestamp()),
  cause: nullable(cause),
  created: timestamp(),
})

/** `{id}` and `{participant_id}` of the path. */
export const participantParams = Type.Object({ ...idParams.properties, participant_id: idParams.properties.id })

export type Participant = Static<typeof participantSchema>

/** A participant as the API and events show it. `call` is the participant's own call, `voice` the live state from media. */
export const toParticipant = (row: ParticipantRow, call: CallRow, voice?: LegAudio['voice']): Participant => ({
  id: row.id,
  object: 'participant',
  livemode: row.livemode === 1,
  call_id: row.call_id,
  session_call_id: row.session_call_id,
  room_id: call.room_id,
  status: statusOf(row),
  role: row.role,
  address: row.address ?? (call.direction === 'inbound' ? call.from_address : call.to_address),
  direction: row.ring_id === null ? call.direction : 'outbound',
  muted: row.muted === 1,
  deaf: row.deaf === 1,
  held: row.on_hold === 1 || (row.ring_id === null && call.status === 'held'),
  audio: toAudio(row.audio, voice),
  joined_at: row.joined_at,
  left_at: row.left_at,
  cause: toCause(row.cause),
  created: row.created,
})

const statusOf = (row: ParticipantRow): string => (row.left_at !== null ? 'left' : STEPS[row.step].shown)
