import { newId } from '../../../kernel/ids.ts'
import { BEAT_MS } from '../../../kernel/nodes/heartbeat.ts'
import { nodeOf } from '../../../kernel/store/node.ts'
import type { Db, Trx } from '../../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../../kernel/tenancy.ts'
import type { InboundRouteRow } from '../../../trunks/tables.ts'
import { settingsOf } from '../../settings.ts'
import type { LegRows } from '../../steps/decide.ts'
import type { CallRow, ConferenceRoomRow } from '../../tables.ts'

/** Sessions of conference rooms: each is a call of its own. */

type RoomKey = Pick<ConferenceRoomRow, 'id' | 'organisation_id' | 'livemode'>

/** The latest session of a room that has not ended, on any node. */
export const runningSession = (db: Db, room: RoomKey): Promise<CallRow | undefined> =>
  runningSessions(db, room).executeTakeFirst()

/** The one that callers of this node can join. Another node's media process has its own. */
export const ownSession = (db: Db, room: RoomKey): Promise<CallRow | undefined> =>
  runningSessions(db, room).where('node_id', '=', nodeOf(db)).executeTakeFirst()

type Leading = Pick<InboundRouteRow, 'target' | 'target_id' | 'organisation_id' | 'livemode'>

/**
 * The other node, alive and not found `gone`, that has calls in the room that a route leads to, while this one has none: its callers meet
 * there. In the transaction that writes the call, so that of nodes that ask at once one opens the room.
 */
export async function elsewhere(trx: Trx, { target, target_id: id, ...of }: Leading, at: string, gone: string[] = []) {
  if (target !== 'room' || id === null) return undefined
  const running = forTenant(trx, tenantOf(of)).select('calls').where('room_id', '=', id).where('ended_at', 'is', null)
  const own = running.select('id').where('node_id', '=', nodeOf(trx)).limit(1)
  if ((await own.executeTakeFirst()) !== undefined) return undefined
  const lately = new Date(Date.parse(at) - 3 * BEAT_MS).toISOString()
  // Of two the later one: the former node has died.
  const others = running.innerJoin('nodes', 'nodes.id', 'calls.node_id').where('seen_at', '>', lately)
  const alive = others.where('nodes.id', 'not in', [nodeOf(trx), ...gone])
  return alive.select(['nodes.id', 'nodes.sip']).orderBy('calls.id', 'desc').limit(1).executeTakeFirst()
}

const runningSessions = (db: Db, room: RoomKey) =>
  forTenant(db, tenantOf(room))
    .select('calls')
    .selectAll()
    .where('kind', '=', 'conference')
    .where('room_id', '=', room.id)
    .where('ended_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(1)

/** Those being dialled, or at the door, take no place yet. */
export async function seatedIn(db: Db, session: CallRow): Promise<number> {
  const { count } = await forTenant(db, tenantOf(session))
    .select('participants')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('session_call_id', '=', session.id)
    .where('joined_at', 'is not', null)
    .where('left_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function isModerated(db: Db, session: CallRow): Promise<boolean> {
  const moderator = await forTenant(db, tenantOf(session))
    .select('participants')
    .select('id')
    .where('session_call_id', '=', session.id)
    .where('role', '=', 'moderator')
    .where('left_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return moderator !== undefined
}

/** `queued` until media has opened its room. */
export const newSession = ({ call }: LegRows, room: ConferenceRoomRow, at: string): CallRow => ({
  id: newId('call'),
  organisation_id: call.organisation_id,
  livemode: call.livemode,
  kind: 'conference',
  status: 'queued',
  direction: 'inbound',
  to_address: room.id,
  from_address: '',
  target: 'room',
  room_id: room.id,
  queue_id: null,
  user_id: null,
  connection_id: null,
  node_id: call.node_id,
  record: settingsOf(room).record ? 1 : 0,
  capture: null,
  answering: null,
  answered_by: null,
  metadata: '{}',
  identity: null,
  redirected_from: '[]',
  ended_reason: null,
  sip_code: null,
  cause: null,
  created: at,
  ringing_at: null,
  answered_at: null,
  ended_at: null,
  duration_ms: null,
  started_ms: null,
  started_on: null,
})
