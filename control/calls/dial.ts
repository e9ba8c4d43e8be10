import { type EndedReason, type Failure, isFailure, type RoomSpec } from '../../media/protocol.ts'
import type { CaptureSettings } from '../capture-settings/settings.ts'
import { unwantedCallProblem } from '../consents/required.ts'
import { invalid, type Problem, problem } from '../http/errors.ts'
import { customerAddresses, hostProblem } from '../http/url-policy.ts'
import { newId } from '../kernel/ids.ts'
import { E164 } from '../kernel/phone.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import type { Turns } from '../kernel/turns.ts'
import type { Vault } from '../kernel/vault.ts'
import type { MediaPort } from '../media-link/events.ts'
import { HIDDEN_CALLER } from '../trunks/caller-identity.ts'
import { CODECS } from '../trunks/codecs.ts'
import { doNotCallProblem } from '../trunks/do-not-call.ts'
import { numbersAt, type OutgoingCall, takesOut, type WayOut, waysOut } from '../trunks/outbound.ts'
import { identityFor } from '../trunks/outgoing-identity.ts'
import type { ConnectionRow } from '../trunks/tables.ts'
import { callProblem, suspensionOf } from '../usage/allowance.ts'
import { type AnsweringSettings, answeringSpec } from './answering/schema.ts'
import { awaitsConsent, roomCapture } from './capture/call-capture.ts'
import { withStreams } from './capture/first-streams.ts'
import type { StreamDeps } from './capture/streams.ts'
import { endUnbegun } from './capture/transcripts.ts'
import { ownRoom, placeOf } from './conductor/leg-rooms.ts'
import { inTurn, type Way } from './outbound/turns.ts'
import { endProgram, insertProgram, programOf, programOfLeg } from './programs/records.ts'
import { endLeg, insertParty, loadLeg, targetOf } from './records.ts'
import { isSandboxNumber, sandboxTarget } from './sandbox.ts'
import { type AudioInput, soundOf } from './sound/audio-schema.ts'
import type { CallRow, ParticipantRow } from './tables.ts'

/** Who asks for a call: a tenant, and the request for the events. A `Context` is one. */
interface Caller extends Tenant {
  requestId: string
  idempotencyKey: string | null
}

/** A target object of a call. */
export interface DialedTarget {
  type: 'room' | 'flow' | 'assistant' | 'queue' | 'user'
  id: string
}

interface DialRequest {
  to: string
  from?: string | undefined
  /** The called party must not see the caller's number. */
  isAnonymous?: boolean
  /** The target after the answer; null: music, until something else is requested. */
  target: DialedTarget | null
  timeoutS: number
  /** Capture settings of the call. */
  capture: Partial<CaptureSettings>
  metadata: Record<string, string>
  role: 'member' | 'moderator'
  muted: boolean
  /** Audio processing. */
  audio?: AudioInput | undefined
  /** Settings of answering machine detection; absent or null: none. */
  answering?: AnsweringSettings | null
  /** Into a room, by a participant: neither PIN nor lock keeps the party out. */
  isInvited?: boolean
  /** The session of the room: it goes on while the node drains, so this call may begin. */
  near?: string | undefined
}

export interface DialDeps {
  store: Store
  media: MediaPort
  now: () => Date
  /** The host of our own SIP address, for a call without a caller number. */
  sipHost: string
  /** Opens the passwords of connections. */
  vault: Vault
  /** CIDR blocks of private networks that the operator allows. */
  allowedNetworks: string[]
  streams: StreamDeps
  /** Changes of one participant, so that the rows have what media did last. */
  changes: Turns
  /** Where our own SIP is reached from this machine, for sandbox numbers. */
  loopback?: { host: string; port: number }
}

/** The rows of a placed call. A failure before media has accepted it is a problem. */
type Placed = { call: CallRow; participant: ParticipantRow }

const SIP_URI = /^sip:(?:[^@\s<>"]{1,128}@)?[^@\s<>";?]{1,253}(?:;[^\s<>"]{0,128})?$/
const SIP_HOST = /^sip:(?:[^@]*@)?(\[[^\]]*\]|[^:;]*)/
const BUSY_RETRY_S = 5

/**
 * Places an outbound call. `also` writes rows that belong to the call in the same transaction, before media knows about it.
 * A number uses the connection of its caller number, else the first trunk. A SIP URI is dialled unchanged, at a public address.
 */
export async function placeCall(
  deps: DialDeps,
  caller: Caller,
  request: DialRequest,
  also: (trx: Trx, placed: Placed) => Promise<void>,
): Promise<Placed | Problem> {
  const misled = strayProblem(deps, request.to)
  if (misled !== null) return misled
  const unwanted = await unwantedCallProblem(deps.store.db, caller, request.to, deps.now().toISOString())
  if (unwanted !== null) return unwanted
  const legId = newId('participant')
  const found = caller.livemode
    ? await wayTo(deps.store.db, caller, request, deps)
    : ((await outsideProblem(deps.store.db, caller, request.to)) ?? sandboxWay(deps, request, legId))
  if ('problem' in found) return found
  const way = await inTurn(deps.store.db, found, deps.now().getTime())
  if (way === null) return trunkBusy()
  const reserved = await deps.media.request('leg.reserve', {
    legId,
    ...(request.near !== undefined && { near: request.near }),
  })
  if (isFailure(reserved)) return refusalOf(reserved)
  const at = deps.now().toISOString()
  const placed = await deps.store.transaction(async trx => {
    const stored = await storeCall(trx, caller, request, { legId, way, at })
    if (!('problem' in stored)) await also(trx, stored)
    return stored
  })
  // Others can have its place at once.
  const giveBack = () => deps.media.request('leg.release', { legId })
  if ('problem' in placed) {
    await giveBack()
    return placed
  }
  // Suspended during that commit: a transaction that has read the organisation before does not conflict with the suspension.
  const suspended = await suspensionOf(deps.store.db, caller)
  if (suspended !== null) {
    await endUnplaced(deps, legId, 'capacity')
    await giveBack()
    return suspended
  }
  const reply = await deps.media.request('leg.dial', {
    legId,
    target: way.target,
    alternatives: way.alternatives,
    room: await roomWithAll(deps.store.db, deps.streams, placed),
    ...placeOf(placed.call),
    ...(request.audio !== undefined && { sound: soundOf(request.audio) }),
    timeoutS: request.timeoutS,
    ...(way.delayMs === 0 ? {} : { delayMs: way.delayMs }),
  })
  // Without an answer it may ring: the next snapshot tells, and a repeated request calls nobody twice.
  if (!isFailure(reply) || reply.failure === 'unanswered') {
    await hangUpUnwanted(deps, legId)
    return placed
  }
  const { failure } = reply
  await endUnplaced(
    deps,
    legId,
    failure === 'unavailable' ? 'media_failed' : failure === 'capacity' ? failure : 'internal_error',
  )
  return refusalOf(reply)
}

/** Writes a call that is to be dialled, unless the organisation or the connection may have no more. */
async function storeCall(
  trx: Trx,
  caller: Caller,
  request: DialRequest,
  { legId, way, at }: { legId: string; way: Pick<Way, 'connection' | 'from'>; at: string },
): Promise<Placed | Problem> {
  const refused = await callProblem(trx, caller, at)
  if (refused !== null) return refused
  if (way.connection !== null && (await isFull(trx, way.connection))) return trunkFull()
  const { type: target, id: targetId } = request.target ?? { type: 'park', id: null }
  const led = programOf(target, targetId)
  const rows = await insertParty(
    trx,
    caller,
    {
      callId: newId('call'),
      legId,
      direction: 'outbound',
      to: request.to,
      from: way.from,
      ...(request.isAnonymous === true && { identity: HIDDEN_CALLER }),
      ...targetOf(target, targetId),
      connectionId: way.connection?.id ?? null,
      capture: { call: request.capture },
      answering: request.answering ?? null,
      program: led ?? {},
      metadata: request.metadata,
      role: request.role,
      muted: request.muted,
      ...(request.audio !== undefined && { audio: request.audio }),
      ...(request.isInvited === true && { admitted: 'let_in' as const }),
    },
    at,
    caller,
  )
  if (led !== null) await insertProgram(trx, caller, { callId: rows.call.id, legId }, led, at)
  return rows
}

/** The room of a call's own leg, with all capture that starts with the answer. */
export async function roomWithAll(db: Db, streams: StreamDeps, { call, participant }: Placed): Promise<RoomSpec> {
  const own = ownRoom(call)
  const spec = answeringSpec(call, participant.id)
  const answering = spec === undefined ? {} : { answering: spec }
  if (awaitsConsent(call)) return spec === undefined ? own : { ...own, capture: { ...roomCapture(call), ...answering } }
  const kept = await withStreams(db, streams, call, participant.id, roomCapture(call))
  return { ...own, capture: { ...kept, ...answering } }
}

/** It was hung up before media knew about it. */
async function hangUpUnwanted({ store, media }: DialDeps, legId: string): Promise<void> {
  const leg = await store.db.selectFrom('participants').select('step').where('id', '=', legId).executeTakeFirst()
  if (leg?.step === 'hanging_up' || leg?.step === 'ended') {
    await media.request('leg.hangup', { legId, reason: 'api_hangup' })
  }
}

/** Why a number or SIP URI is not called, by any kind of call: the do-not-call list, or a test call that would leave the sandbox. */
export async function outsideProblem(db: Db, tenant: Tenant, to: string): Promise<Problem | null> {
  const blocked = await doNotCallProblem(db, tenant, to)
  return blocked ?? (tenant.livemode || isSandboxNumber(to) ? null : sandboxOnly())
}

/** Whether a far end may have somebody called over this connection, by a URI or its user: it writes numbers in its own format. */
export async function mayName(db: Db, tenant: Tenant, connection: ConnectionRow, uri: string): Promise<boolean> {
  if (!takesOut(connection, uri) || (await outsideProblem(db, tenant, uri)) !== null) return false
  for (const to of numbersAt(connection, uri)) if ((await doNotCallProblem(db, tenant, to)) !== null) return false
  return true
}

const sandboxOnly = (): Problem => {
  const message =
    'A test key cannot call real numbers. Dial a sandbox number (+15005550001 to +15005550007), or use a live key.'
  return invalid('to', message)
}

/** A SIP URI with a private address. The media process also checks names, by the address that is dialled. */
export function strayProblem({ allowedNetworks }: Pick<DialDeps, 'allowedNetworks'>, to: string): Problem | null {
  const host = SIP_URI.test(to) ? SIP_HOST.exec(to)?.[1] : undefined
  return host === undefined ? null : hostProblem(host, customerAddresses(allowedNetworks), 'to')
}

/** A test call only goes to a sandbox number. */
function sandboxWay({ loopback }: DialDeps, { to, from }: DialRequest, legId: string): Way | Problem {
  if (loopback === undefined || !isSandboxNumber(to)) return sandboxOnly()
  if (from !== undefined && !E164.test(from) && !SIP_URI.test(from)) return malformed('from')
  const target = sandboxTarget(to, legId, loopback)
  return { target, alternatives: [], connection: null, from: from ?? target.from.uri, others: [] }
}

function refusalOf({ failure, message }: Failure): Problem {
  if (failure === 'unavailable' || failure === 'unanswered') return mediaUnavailable(message)
  if (failure === 'capacity') return busy('No call capacity right now.')
  return invalid('to', `The call cannot be placed: ${message}`)
}

/** Ends a call that has rows but will not be dialled. */
const endUnplaced = ({ store, now }: DialDeps, legId: string, reason: EndedReason): Promise<void> =>
  store.transaction(async trx => {
    const rows = await loadLeg(trx, legId)
    if (rows === null) return
    const at = now().toISOString()
    await endLeg(trx, rows, { reason, sipCode: null, quality: null }, at)
    const program = await programOfLeg(trx, legId)
    if (program !== undefined) await endProgram(trx, program, 'error', at)
    await endUnbegun(trx, legId, at)
  })

/** 503, for every operation that needs the media process and cannot reach it. */
export const mediaUnavailable = (message: string): Problem =>
  problem('media_unavailable', `The media engine cannot be reached: ${message}.`, { retryAfterS: 1 })

/** By its row it runs, and media does not know it: what is asked of it now would have no effect. */
export const beingStarted = (what: string): Problem =>
  problem('media_unavailable', `The ${what} is only being started, or has just ended.`, { retryAfterS: 1 })

/** How a number or SIP URI is reached, and from where. `legId`: of the call, where it may hold a line already. */
export async function wayTo(
  db: Db,
  tenant: Tenant,
  request: OutgoingCall & { legId?: string },
  { sipHost, vault }: Pick<DialDeps, 'sipHost' | 'vault'>,
): Promise<Way | Problem> {
  const { to, from, shown, legId } = request
  if (from !== undefined && !E164.test(from) && !SIP_URI.test(from)) return malformed('from')
  const blocked = await doNotCallProblem(db, tenant, to)
  if (blocked !== null) return blocked
  if (E164.test(to)) {
    const ways = await freeWays(db, await waysOut(db, tenant, request, vault), legId)
    const [first, ...others] = ways
    if (first === undefined) {
      return invalid('to', 'No enabled connection of kind trunk or registration can call this number.')
    }
    return { ...first, alternatives: others.map(({ target }) => target), others }
  }
  if (!SIP_URI.test(to)) return malformed('to')
  const caller = shown ?? from ?? `sip:tandem@${sipHost}`
  const uriOf = (address: string): string => (E164.test(address) ? `sip:${address}@${sipHost}` : address)
  const target = {
    uri: to,
    from: { uri: uriOf(caller) },
    hosts: [],
    publicOnly: true,
    credentials: null,
    identity: identityFor(OUTSIDE, { ...request, caller }, uriOf),
    codecs: CODECS,
  }
  return { target, alternatives: [], connection: null, from: caller, others: [] }
}

/** The same, over a connection that has a line left. */
export async function freeWayTo(...call: Parameters<typeof wayTo>): Promise<Way | Problem> {
  const way = await wayTo(...call)
  if ('problem' in way || way.connection === null) return way
  return (await isFull(call[0], way.connection)) ? trunkFull() : way
}

/** For a SIP URI that is dialled unchanged: the far end gets nothing beyond From. */
const OUTSIDE = { identity: 'from', redirect_headers: 'none', caller_number: null } as const

const busy = (message: string): Problem => problem('capacity_exhausted', message, { retryAfterS: BUSY_RETRY_S })

const trunkBusy = (): Problem =>
  problem('capacity_exhausted', 'The connection has reached its `calls_per_second`.', { retryAfterS: 1 })

const trunkFull = (): Problem => busy('The connection has reached its `max_calls`.')

/** Whether a connection is at its limit without this leg. Check it in the transaction that adds a leg. */
export async function isFull(db: Db, connection: ConnectionRow, legId = ''): Promise<boolean> {
  if (connection.max_calls === null) return false
  const running = await db
    .selectFrom('participants')
    .select('id')
    .where('connection_id', '=', connection.id)
    .where('step', '!=', 'ended')
    .where('id', '!=', legId)
    .limit(connection.max_calls)
    .execute()
  return running.length >= connection.max_calls
}

/** Connections below their limit. If all are full, the best one, whose refusal then says so. */
async function freeWays(db: Db, ways: readonly WayOut[], legId?: string): Promise<readonly WayOut[]> {
  const free: WayOut[] = []
  for (const way of ways) if (!(await isFull(db, way.connection, legId))) free.push(way)
  return free.length > 0 ? free : ways.slice(0, 1)
}

const malformed = (param: string): Problem =>
  invalid(param, `${param} is neither a number in E.164 (+15551234567) nor a SIP URI (sip:…).`)
