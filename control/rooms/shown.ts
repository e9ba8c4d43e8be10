import { runningSession } from '../calls/conductor/rooms/sessions.ts'
import { activeSpeakerOf, isLocked } from '../calls/session-state.ts'
import type { ConferenceRoomRow } from '../calls/tables.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { type ConferenceRoom, type RoomFacts, toConferenceRoom } from './room-schema.ts'

/** A room with fields that are not in its row: the numbers that lead to it, and its participants. */
export const toObject = async (db: Db, tenant: Tenant, row: ConferenceRoomRow): Promise<ConferenceRoom> =>
  toConferenceRoom(row, await factsOf(db, tenant, row))

const routesTo = (db: Db, tenant: Tenant, roomId: string) =>
  forTenant(db, tenant)
    .select('inbound_routes')
    .select(['id', 'match_to'])
    .where('target', '=', 'room')
    .where('target_id', '=', roomId)
    .orderBy('id')
    .execute()

async function factsOf(db: Db, tenant: Tenant, row: ConferenceRoomRow): Promise<RoomFacts> {
  const dialIn = (await routesTo(db, tenant, row.id)).flatMap(({ match_to }) => (match_to === null ? [] : [match_to]))
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
