import { runningSession } from '../calls/conductor/rooms/sessions.ts'
import { activeSpeakerOf, isLocked } from '../calls/session-state.ts'
import type { ConferenceRoomRow } from '../calls/tables.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { type ConferenceRoom, type RoomFacts, toConferenceRoom } from './room-schema.ts'

/** A room with fields that are not in its row: the numbers that lead to it, and its participants. */
export const toObject = async (db: Db, tenant: Tenant, row: ConferenceRoomRow): Promise<ConferenceRoom> =>
  toConferenceRoom(row, await factsOf(db, tenant, row))

/** What can be dialled to come in, each once, the first route's first. A prefix is no number. */
async function numbersOf(db: Db, tenant: Tenant, roomId: string): Promise<string[]> {
  const routes = forTenant(db, tenant).select('inbound_routes').select('match_to').where('target', '=', 'room')
  const found = await routes.where('target_id', '=', roomId).orderBy('id').execute()
  return [...new Set(found.flatMap(({ match_to: to }) => (to === null || to.endsWith('*') ? [] : [to])))]
}

async function factsOf(db: Db, tenant: Tenant, row: ConferenceRoomRow): Promise<RoomFacts> {
  const dialIn = await numbersOf(db, tenant, row.id)
  const session = await runningSession(db, row)
  if (session === undefined || session.status === 'queued') return { dialIn, live: null }
  const seated = await forTenant(db, tenant)
    .select('participants')
    .select('id')
    .where('session_call_id', '=', session.id)
    .where('joined_at', 'is not', null)
    .where('left_at', 'is', null)
    .execute()
  const started_at = session.answered_at ?? session.created
  const locked = await isLocked(db, session, row)
  const active_speaker_id = await activeSpeakerOf(db, session)
  return { dialIn, live: { call_id: session.id, started_at, participants: seated.length, locked, active_speaker_id } }
}
