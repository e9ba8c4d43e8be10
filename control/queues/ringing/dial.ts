import { type Commands, type DialTarget, type Failure, isFailure, isPublicAddress } from '../../../media/protocol.ts'
import { insertCallKeys } from '../../calls/call-keys.ts'
import { affinityOf } from '../../calls/conductor/leg-rooms.ts'
import { freeWayTo, isFull, outsideProblem, roomWithAll, wayTo } from '../../calls/dial.ts'
import { mainLeg, takeOn } from '../../calls/legs.ts'
import { inTurn } from '../../calls/outbound/turns.ts'
import { sandboxTarget } from '../../calls/sandbox.ts'
import type { CallRow, ParticipantRow } from '../../calls/tables.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { CommandPort } from '../../media-link/events.ts'
import { MAX_WAIT_MS } from '../../trunks/call-starts.ts'
import type { RedirectedFrom } from '../../trunks/caller-identity.ts'
import { CODECS } from '../../trunks/codecs.ts'
import type { ConnectionRow } from '../../trunks/tables.ts'
import { legProblem } from '../../usage/allowance.ts'
import type { CallCentreParts } from '../deps.ts'
import { mainRing, type Onward, type RingTarget } from './rings.ts'

/** A leg, with its call and tenant. */
export interface Around {
  leg: ParticipantRow
  call: CallRow | undefined
  tenant: Tenant
}

type Media = CommandPort<'leg.dial' | 'leg.hangup'>

/** Dials a leg into a room of its own. The first to answer is moved into the call's room. */
export async function dial(
  deps: CallCentreParts,
  media: Media,
  { leg, call, tenant }: Around,
): Promise<Failure | null> {
  const { timeoutS, onward, ...target } = JSON.parse(leg.dial ?? '{}') as Exclude<RingTarget, { kind: 'leg' }> &
    Dialling
  const own = leg.ring_id === null && call !== undefined
  const { db } = deps.store
  const room = own ? await roomWithAll(db, deps.streams, { call, participant: leg }) : waitingRoom(leg.id)
  const near = own ? call.room_id : leg.ring_id === null ? null : (call?.id ?? null)
  const main = own || call === undefined ? undefined : await mainLeg(db, tenant, call.id)
  // Of a call that a member has placed, the member's phone.
  const callerLegId = own ? (await mainRing(db, tenant, call.id))?.leg_id : main?.id
  const callerLeg = callerLegId == null ? {} : { callerLegId }
  const place = { legId: leg.id, room, affinity: affinityOf(leg), ...(near !== null && { near }) }
  const reply = await dialOut(deps, media, { leg, call, tenant }, target, { ...place, ...callerLeg, timeoutS, onward })
  // A conflict: the leg was dialled already, by a process that died before it stored that.
  if (isFailure(reply) && reply.failure !== 'conflict') return reply
  // An answer may have been stored meanwhile, and stays. If the leg was ended meanwhile, media had none to hang up, so it is hung up now.
  const now = await takeOn(deps.store, leg, { step: 'dialing' })
  if (now === undefined || now.step === 'ended') {
    await media.request('leg.hangup', { legId: leg.id, reason: now?.leave_reason ?? 'api_hangup' })
  }
  return null
}

type Dialling = { timeoutS: number; onward?: Onward | undefined }

async function dialOut(
  deps: CallCentreParts,
  media: Media,
  around: Around,
  target: Exclude<RingTarget, { kind: 'leg' }>,
  { onward, ...how }: Omit<Commands['leg.dial']['request'], 'target'> & Dialling,
): Promise<object> {
  const way = await dialTarget(deps, around, target, onward)
  return 'failure' in way ? way : media.request('leg.dial', { ...how, ...way })
}

const waitingRoom = (legId: string) => ({
  roomId: legId,
  kind: 'call' as const,
  chimes: false,
  musicWhenAlone: false,
  maxMembers: 1,
})

/** The leg that media is to dial. */
type Dialled = Pick<Commands['leg.dial']['request'], 'target' | 'alternatives' | 'delayMs' | 'pace'>

type Address = Extract<RingTarget, { kind: 'address' }>

/** How long to wait before dialling [ms]. A start further ahead than `MAX_WAIT_MS` was written by a wrong clock. */
function waitOf({ startMs = 0 }: Address, nowMs: number): number {
  const waitMs = startMs - nowMs
  return waitMs > MAX_WAIT_MS ? 0 : Math.max(0, waitMs)
}

const pacedBy = ({ pace }: Address, delayMs: number): Pick<Dialled, 'delayMs' | 'pace'> => ({
  ...(delayMs === 0 ? {} : { delayMs }),
  ...(pace === undefined ? {} : { pace }),
})

async function dialTarget(
  deps: CallCentreParts,
  around: Around,
  target: Exclude<RingTarget, { kind: 'leg' }>,
  onward: Onward | undefined,
): Promise<Dialled | Failure> {
  if (target.kind === 'address') return addressTarget(deps, around, target)
  const { leg, call, tenant } = around
  const { db } = deps.store
  if (target.kind === 'browser') {
    const dialled = onward?.to ?? (leg.ring_id === null ? call?.to_address : undefined)
    const info = dialled === undefined ? await shownOf(db, tenant, call, leg) : { dialled }
    const { browserId } = target
    return { target: { browserId, info, ...(await nodeOfPage(db, browserId)) } }
  }
  const { caller = 'tandem' } = await shownOf(db, tenant, call, leg)
  const phone: DialTarget = {
    uri: target.uri,
    from: { uri: caller.startsWith('sip:') ? caller : `sip:${caller}@${deps.sipHost}` },
    hosts: [target.via],
    ...(target.route === undefined ? {} : { route: target.route }),
    // A phone on a private network may name private addresses: it has proved its account.
    publicOnly: isPublicAddress(target.via.host),
    credentials: null,
    codecs: CODECS,
    srtp: 'optional',
  }
  return { target: phone }
}

/** An address outside: in test mode in the sandbox, otherwise over a connection that has a free line. */
async function addressTarget(
  { store, now, sipHost, vault, loopback }: CallCentreParts,
  { leg, call, tenant }: Around,
  target: Address,
): Promise<Dialled | Failure> {
  const at = now()
  const nowMs = at.getTime()
  // The call was checked when it was stored, but the organisation may have been suspended since.
  const limit = await legProblem(store.db, tenant, at.toISOString())
  if (limit !== null) return { failure: 'capacity', message: limit.message }
  if (!tenant.livemode) {
    const refused = await outsideProblem(store.db, tenant, target.to)
    if (refused !== null) return { failure: 'invalid', message: refused.message }
    if (loopback === undefined) return { failure: 'invalid', message: 'there is no sandbox here' }
    return { target: sandboxTarget(target.to, leg.id, loopback), ...pacedBy(target, waitOf(target, nowMs)) }
  }
  const from = target.from ?? (call === undefined ? null : ourNumber(call))
  const shown = target.showsCaller === true && call !== undefined ? callerOf(call) : undefined
  const { to, isAnonymous = false, replaces, userToUser } = target
  const told = { redirectedFrom: sentOn(target, call), shown, isAnonymous }
  const asked = { to, from: from ?? undefined, ...told, legId: leg.id }
  const way = await wayTo(store.db, tenant, asked, { sipHost, vault })
  if ('problem' in way) return { failure: 'invalid', message: way.message }
  const startMs = nowMs + waitOf(target, nowMs)
  const turn = await inTurn(store.db, way, startMs)
  if (turn === null) return { failure: 'capacity', message: 'the connection has reached its `calls_per_second`' }
  const { connection, alternatives } = turn
  const isFree = connection === null || (await takeLine(store, { leg, call, tenant }, { connection, from: turn.from }))
  const said = { ...(replaces !== undefined && { replaces }), ...(userToUser !== undefined && { userToUser }) }
  const of = (to: DialTarget): DialTarget => ({ ...to, ...said })
  const paced = pacedBy(target, startMs - nowMs + turn.delayMs)
  if (isFree) return { target: of(turn.target), alternatives: alternatives.map(of), ...paced }
  return { failure: 'capacity', message: 'the connection has reached its `max_calls`' }
}

/** The other node that a page is connected to; nothing: this one. */
async function nodeOfPage(db: Db, browserId: string): Promise<{ node?: string }> {
  const pages = db.selectFrom('browser_sessions').innerJoin('nodes', 'nodes.id', 'node').select('nodes.ws')
  const page = await pages
    .where('browser_sessions.id', '=', browserId)
    .where('node', '!=', nodeOf(db))
    .executeTakeFirst()
  return page?.ws == null ? {} : { node: page.ws }
}

/** Over which connection a running live call reaches a number or SIP URI, or why it cannot. */
export const wayOn = (deps: CallCentreParts, db: Db, tenant: Tenant, { call, to }: { call: CallRow; to: string }) =>
  freeWayTo(db, tenant, { to, from: ourNumber(call) ?? undefined }, deps)

/** Counts a leg on the connection that it is dialled over. False: the connection is at its `max_calls`. */
const takeLine = (store: Store, { leg, call, tenant }: Around, { connection, from }: Line): Promise<boolean> =>
  store.transaction(async trx => {
    if (await isFull(trx, connection, leg.id)) return false
    const own = forTenant(trx, tenant)
    const line = { connection_id: connection.id }
    await own.change('participants', leg.id, line)
    if (leg.ring_id !== null || call === undefined) return true
    // The call of a callback or campaign was stored before it was known over which line it goes, and so from which number.
    await own.change('calls', call.id, line)
    const unnamed = own.update('calls').set({ from_address: from }).where('id', '=', call.id)
    const { numUpdatedRows } = await unnamed.where('from_address', '=', '').executeTakeFirst()
    const isFound = numUpdatedRows === 0n || from === call.to_address
    if (!isFound) await insertCallKeys(trx, tenant, { ...call, to_address: from, from_address: from, metadata: '{}' })
    return true
  })

type Line = { connection: ConnectionRow; from: string }

/** What a softphone shows while it rings. An offered callback has no call yet. */
async function shownOf(
  db: Db,
  tenant: Tenant,
  call: CallRow | undefined,
  { ring_id }: ParticipantRow,
): Promise<Record<string, string>> {
  const scoped = forTenant(db, tenant)
  const ring = call === undefined && ring_id !== null ? await scoped.find('rings', ring_id) : undefined
  const callback = ring?.callback_id == null ? undefined : await scoped.find('callbacks', ring.callback_id)
  const caller = call?.direction === 'inbound' ? call.from_address : (call?.to_address ?? callback?.phone)
  const queueId = call?.queue_id ?? callback?.queue_id ?? null
  const queue = queueId === null ? undefined : await scoped.find('queues', queueId)
  return {
    ...(call !== undefined && { call_id: call.id }),
    ...(callback !== undefined && { callback_id: callback.id }),
    ...(caller !== undefined && { caller }),
    ...(queue !== undefined && { queue: queue.name }),
  }
}

/** For a call from a trunk that is forwarded outside: the number that was called, and earlier diversions (RFC 5806). */
function sentOn({ from }: { from: string | null }, call: CallRow | undefined): RedirectedFrom[] {
  if (from !== null || call?.direction !== 'inbound' || call.connection_id === null) return []
  const before = JSON.parse(call.redirected_from) as RedirectedFrom[]
  return [{ address: call.to_address, reason: 'unconditional', count: 1 }, ...before]
}

/** The number of the other party; undefined: it is not known. */
function callerOf(call: CallRow): string | undefined {
  const theirs = call.direction === 'inbound' ? call.from_address : call.to_address
  return theirs.startsWith('+') ? theirs : undefined
}

/** The number of ours that the call uses, which is also the calling number of further legs; null: none. */
const ourNumber = (call: CallRow): string | null => {
  const ours = call.direction === 'inbound' ? call.to_address : call.from_address
  return ours.startsWith('+') ? ours : null
}
