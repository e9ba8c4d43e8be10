import { judgePin } from '../calls/conductor/rooms/pin-verdict.ts'
import { runningSession, seatedIn } from '../calls/conductor/rooms/sessions.ts'
import { scheduleOf } from '../calls/settings.ts'
import { openingOf } from '../calls/steps/join-window.ts'
import type { CallRow, ConferenceRoomRow, ParticipantRow } from '../calls/tables.ts'
import { invalid, type Problem, problem } from '../http/errors.ts'
import { sha256 } from '../kernel/secrets.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, tenantOf } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { clientTokenKey, insertClientToken, signClientToken } from './client-token.ts'

export interface GuestDeps {
  store: Store
  vault: Vault
  now: () => Date
}

/** Time from the form to the call for a guest [s]. */
const TTL_S = 300

/** The room of a guest link: whoever has the link may come, so the link says whose room it is. */
export const roomOfLink = (db: Db, token: string): Promise<ConferenceRoomRow | undefined> =>
  db.selectFrom('conference_rooms').selectAll().where('link_hash', '=', sha256(token)).executeTakeFirst()

export const opennessOf = (room: ConferenceRoomRow, now: Date): 'open' | 'not_open' | 'closed' =>
  room.active === 0 ? 'closed' : openingOf(scheduleOf(room), now)

interface Guest {
  name: string
  pin: string
  /** The page's origin; null: unknown. */
  origin: string | null
}

/** Admits a guest with a client token for one call into the room, or says why not. A wrong PIN is `parameter_invalid` at `pin`. */
export async function admitGuest(
  { store, vault, now }: GuestDeps,
  room: ConferenceRoomRow,
  guest: Guest,
): Promise<{ callId: string; token: string; role: 'member' | 'moderator' } | Problem> {
  const openness = opennessOf(room, now())
  if (openness !== 'open') return problem('resource_conflict', CLOSED[openness], { details: { reason: openness } })
  const verdict = await judgePin(room, guest.pin)
  if (verdict === 'wrong') return invalid('pin', guest.pin === '' ? 'The room asks for a PIN.' : 'The PIN is wrong.')
  const at = now()
  const row = await store.transaction(async trx => {
    const tenant = tenantOf(room)
    const fields = { assistant_id: null, agent_user_id: null, origin: guest.origin, metadata: '{}', ttlS: TTL_S }
    const token = await insertClientToken(trx, tenant, fields, at)
    const row = { id: token.id, room_id: room.id, name: guest.name, role: verdict, created: at.toISOString() }
    await forTenant(trx, tenant).insert('browser_guests', row)
    return token
  })
  return { callId: row.id, token: await signClientToken(row, await clientTokenKey(store, vault)), role: verdict }
}

const CLOSED = { not_open: 'The room is not open yet.', closed: 'The room is closed.' } as const

/** What a guest page shows of its call. */
interface GuestState {
  state: 'connecting' | 'waiting' | 'seated' | 'refused' | 'ended'
  /** `moderator` while waiting; `room-locked`, `room-full` or `room-closed` if refused; otherwise why the call ended. */
  reason: string | null
  /** The participants of the session now. */
  participants: number
}

/** The state of a guest of this room; null: there is no such guest. */
export async function guestState(db: Db, room: ConferenceRoomRow, callId: string): Promise<GuestState | null> {
  const tenant = forTenant(db, tenantOf(room))
  const guest = await tenant.find('browser_guests', callId)
  if (guest?.room_id !== room.id) return null
  const call = await tenant.find('calls', callId)
  const participant = await tenant.findBy('participants', { call_id: callId })
  const session = await runningSession(db, room)
  return { ...progressOf(call, participant), participants: session === undefined ? 0 : await seatedIn(db, session) }
}

function progressOf(call?: CallRow, participant?: ParticipantRow): Pick<GuestState, 'state' | 'reason'> {
  if (call === undefined || participant === undefined) return { state: 'connecting', reason: null }
  if (participant.leave_prompt !== null) return { state: 'refused', reason: participant.leave_prompt }
  if (call.ended_at !== null) return { state: 'ended', reason: call.ended_reason }
  switch (participant.step) {
    case 'waiting':
      return { state: 'waiting', reason: 'moderator' }
    case 'seated':
      return { state: 'seated', reason: null }
    default:
      return { state: 'connecting', reason: null }
  }
}
