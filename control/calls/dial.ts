import type { DialTarget, RoomSpec } from '../../media/protocol.ts'
import { isFailure } from '../../media/protocol.ts'
import type { CaptureSettings } from '../capture-settings/settings.ts'
import { type Problem, problem } from '../http/errors.ts'
import { customerAddresses, hostProblem } from '../http/url-policy.ts'
import { newId } from '../kernel/ids.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import type { MediaPort } from '../media-link/events.ts'
import { credentialsOf } from '../trunks/account.ts'
import { addressOfRecord, sipHost } from '../trunks/address.ts'
import { CODECS } from '../trunks/codecs.ts'
import { doNotCallProblem } from '../trunks/do-not-call.ts'
import type { ConnectionRow } from '../trunks/tables.ts'
import { awaitsConsent, roomCapture } from './capture/call-capture.ts'
import { withStreams } from './capture/first-streams.ts'
import type { StreamDeps } from './capture/streams.ts'
import { affinityOf, ownRoom } from './conductor/leg-rooms.ts'
import { endProgram, insertProgram, type ProgramTarget, programOfLeg } from './programs/records.ts'
import { endUnbegun } from './programs/transcripts.ts'
import { endLeg, insertParty, loadLeg } from './records.ts'
import { isSandboxNumber, sandboxTarget } from './sandbox.ts'
import type { CallRow, ParticipantRow } from './tables.ts'

/** Who asks for a call: a tenant, and the request for the events. A `Context` is one. */
export interface Caller extends Tenant {
  requestId: string
  idempotencyKey: string | null
}

/** An object that a call is led to. */
export interface DialedTarget {
  type: 'room' | 'flow' | 'assistant' | 'queue' | 'user'
  id: string
}

export interface DialRequest {
  to: string
  from?: string | undefined
  /** What it is connected with once it is answered; null: music, until it is told more. */
  target: DialedTarget | null
  timeoutS: number
  /** What is kept of it. */
  capture: Partial<CaptureSettings>
  metadata: Record<string, string>
  role: 'member' | 'moderator'
  muted: boolean
  /** Into a room, by somebody who is in it: neither PIN nor lock keeps it out. */
  isInvited?: boolean
}

export interface DialDeps {
  store: Store
  media: MediaPort
  now: () => Date
  /** The host of our own SIP address, for a call that is from no number. */
  sipHost: string
  /** Opens the passwords of connections. */
  vault: Vault
  /** CIDR blocks beyond the public network that an operator lets through. */
  allowedNetworks: string[]
  streams: StreamDeps
  /** Where our own SIP is reached from this machine, for sandbox numbers. */
  loopback?: { host: string; port: number }
}

/** Placed: its rows, and for what goes wrong before media has accepted it a problem. */
export type Placed = { call: CallRow; participant: ParticipantRow }

const E164 = /^\+[1-9][0-9]{1,14}$/
const SIP_URI = /^sip:(?:[^@\s<>"]{1,128}@)?[^@\s<>";?]{1,253}(?:;[^\s<>"]{0,128})?$/
const SIP_HOST = /^sip:(?:[^@]*@)?(\[[^\]]*\]|[^:;]*)/
const BUSY_RETRY_S = 5

/**
 * Places an outbound call. `also` writes what belongs to the call in the same transaction, before media knows of it.
 * A number goes out over the connection of the number it is from, else over the first trunk; a SIP URI is dialled as it is, at a public address.
 */
export async function placeCall(
  deps: DialDeps,
  caller: Caller,
  request: DialRequest,
  also: (trx: Trx, placed: Placed) => Promise<void>,
): Promise<Placed | Problem> {
  const misled = strayProblem(deps, request.to)
  if (misled !== null) return misled
  const legId = newId('participant')
  const way = caller.livemode
    ? await wayTo(deps.store.db, caller, request, deps)
    : ((await outsideProblem(deps.store.db, caller, request.to)) ?? sandboxWay(deps, request, legId))
  if ('problem' in way) return way
  const at = deps.now().toISOString()
  const placed = await deps.store.transaction(async trx => {
    if (way.connection !== null && (await isFull(trx, way.connection))) return trunkFull()
    const led = programOf(request)
    const rows = await insertParty(
      trx,
      caller,
      {
        callId: newId('call'),
        legId,
        direction: 'outbound',
        to: request.to,
        from: way.from,
        target: request.target?.type ?? 'park',
        roomId: idOf(request, 'room'),
        queueId: idOf(request, 'queue'),
        userId: idOf(request, 'user'),
        connectionId: way.connection?.id ?? null,
        capture: { call: request.capture },
        program: led ?? {},
        metadata: request.metadata,
        role: request.role,
        muted: request.muted,
        admitted: request.isInvited === true,
      },
      at,
      caller,
    )
    if (led !== null) await insertProgram(trx, caller, { callId: rows.call.id, legId }, led, at)
    await also(trx, rows)
    return rows
  })
  if ('problem' in placed) return placed
  const reply = await deps.media.request('leg.dial', {
    legId,
    target: way.target,
    room: await roomWithAll(deps.store.db, deps.streams, placed),
    affinity: affinityOf(placed.call),
    timeoutS: request.timeoutS,
  })
  // Without an answer it may ring: the next snapshot tells, and who asks again calls nobody twice.
  if (!isFailure(reply) || reply.failure === 'unanswered') {
    await hangUpUnwanted(deps, legId)
    return placed
  }
  return refused(deps, legId, reply.failure, reply.message)
}

/** The room of a call's own leg, with all that is kept of it from the answer on. */
export async function roomWithAll(db: Db, streams: StreamDeps, { call, participant }: Placed): Promise<RoomSpec> {
  if (awaitsConsent(call)) return ownRoom(call)
  return { ...ownRoom(call), capture: await withStreams(db, streams, call, participant.id, roomCapture(call)) }
}

/** It was hung up before media knew of it. */
async function hangUpUnwanted({ store, media }: DialDeps, legId: string): Promise<void> {
  const leg = await store.db.selectFrom('participants').select('step').where('id', '=', legId).executeTakeFirst()
  if (leg?.step === 'hanging_up' || leg?.step === 'ended') {
    await media.request('leg.hangup', { legId, reason: 'api_hangup' })
  }
}

/** Why a number or SIP URI is not called, whatever asks for it: the do-not-call list, and a test call that is to leave the sandbox. */
export async function outsideProblem(db: Db, tenant: Tenant, to: string): Promise<Problem | null> {
  const blocked = await doNotCallProblem(db, tenant, to)
  return blocked ?? (tenant.livemode || isSandboxNumber(to) ? null : sandboxOnly())
}

const sandboxOnly = (): Problem => {
  const message = 'A test key reaches nobody outside: dial a sandbox number (+15005550001 to 7), or use a live key.'
  return problem('parameter_invalid', message, { param: 'to' })
}

/** A SIP URI of a private address; the media process judges it too, and names by the address that is dialled. */
function strayProblem({ allowedNetworks }: DialDeps, to: string): Problem | null {
  const host = SIP_URI.test(to) ? SIP_HOST.exec(to)?.[1] : undefined
  return host === undefined ? null : hostProblem(host, customerAddresses(allowedNetworks), 'to')
}

/** A test call goes to a sandbox number or nowhere. */
function sandboxWay({ loopback }: DialDeps, { to, from }: DialRequest, legId: string): Way | Problem {
  if (loopback === undefined || !isSandboxNumber(to)) return sandboxOnly()
  if (from !== undefined && !E164.test(from) && !SIP_URI.test(from)) return malformed('from')
  const target = sandboxTarget(to, legId, loopback)
  return { target, connection: null, from: from ?? target.from.uri }
}

const idOf = ({ target }: DialRequest, type: DialedTarget['type']): string | null =>
  target?.type === type ? target.id : null

function programOf(request: DialRequest): ProgramTarget | null {
  const [flowId, assistantId] = [idOf(request, 'flow'), idOf(request, 'assistant')]
  return flowId !== null ? { flowId } : assistantId !== null ? { assistantId } : null
}

async function refused(deps: DialDeps, legId: string, failure: string, message: string): Promise<Problem> {
  const reason = failure === 'capacity' ? 'capacity' : failure === 'unavailable' ? 'media_failed' : 'internal_error'
  await deps.store.transaction(async trx => {
    const rows = await loadLeg(trx, legId)
    if (rows !== null) {
      const at = deps.now().toISOString()
      await endLeg(trx, rows, { reason, sipCode: null, quality: null }, at)
      const program = await programOfLeg(trx, legId)
      if (program !== undefined) await endProgram(trx, program, 'error', at)
      await endUnbegun(trx, legId, at)
    }
  })
  if (failure === 'unavailable') return mediaUnavailable(message)
  if (failure === 'capacity') return busy('No call capacity right now.')
  return problem('parameter_invalid', `The call cannot be placed: ${message}`, { param: 'to' })
}

/** 503, for every operation that needs the media process and cannot reach it. */
export const mediaUnavailable = (message: string): Problem =>
  problem('media_unavailable', `The media engine cannot be reached: ${message}.`, { retryAfterS: 1 })

type Way = { target: DialTarget; connection: ConnectionRow | null; from: string }

/** How a number or SIP URI is reached, and from where. */
export async function wayTo(
  db: Db,
  tenant: Tenant,
  request: Pick<DialRequest, 'to' | 'from'>,
  { sipHost, vault }: Pick<DialDeps, 'sipHost' | 'vault'>,
): Promise<Way | Problem> {
  const { to, from } = request
  if (from !== undefined && !E164.test(from) && !SIP_URI.test(from)) return malformed('from')
  const blocked = await doNotCallProblem(db, tenant, to)
  if (blocked !== null) return blocked
  if (E164.test(to)) {
    const connection = await trunkFor(db, tenant, from)
    if (connection === undefined) {
      return problem('parameter_invalid', 'No enabled connection of kind trunk or registration takes numbers out.', {
        param: 'to',
      })
    }
    return overTrunk(to, from, connection, vault)
  }
  if (!SIP_URI.test(to)) return malformed('to')
  const caller = from ?? `sip:tandem@${sipHost}`
  const target = {
    uri: to,
    from: { uri: E164.test(caller) ? `sip:${caller}@${sipHost}` : caller },
    via: null,
    publicOnly: true,
    credentials: null,
    codecs: CODECS,
  }
  return { target, connection: null, from: caller }
}

const busy = (message: string): Problem => problem('capacity_exhausted', message, { retryAfterS: BUSY_RETRY_S })

const trunkFull = (): Problem => busy('The connection carries its `max_calls` already.')

/** Whether a connection carries all that it may, besides this leg; who writes one more down asks in the same transaction. */
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

const malformed = (param: string): Problem =>
  problem('parameter_invalid', `${param} is neither a number in E.164 (+15551234567) nor a SIP URI (sip:…).`, { param })

function overTrunk(to: string, from: string | undefined, connection: ConnectionRow, vault: Vault): Way {
  const host = connection.host ?? ''
  const { port, transport } = connection
  const caller = from ?? accountOf(connection) ?? `sip:tandem@${host}`
  const target: DialTarget = {
    uri: `sip:${to}@${host}${port === 5060 ? '' : `:${port}`}`,
    from: { uri: E164.test(caller) ? `sip:${caller}@${host}` : caller },
    via: { host, port, transport },
    publicOnly: true,
    credentials: credentialsOf(vault, connection),
    codecs: JSON.parse(connection.codecs) as DialTarget['codecs'],
    ...(connection.dtmf_mode === 'auto' ? {} : { dtmf: connection.dtmf_mode }),
    srtp: connection.srtp,
  }
  return { target, connection, from: caller }
}

/** A registrar takes calls from the account that is registered there. */
function accountOf({ kind, auth_username: username, host }: ConnectionRow): string | null {
  const at = sipHost(host ?? '')
  return kind !== 'registration' || username === null || at === null ? null : addressOfRecord(username, at)
}

async function trunkFor(db: Db, tenant: Tenant, from: string | undefined): Promise<ConnectionRow | undefined> {
  const scoped = forTenant(db, tenant)
  const trunks = await scoped
    .select('connections')
    .selectAll()
    .where('kind', 'in', ['trunk', 'registration'])
    .where('enabled', '=', 1)
    .where('host', 'is not', null)
    .orderBy('id')
    .execute()
  // One that does not answer is tried all the same when there is no other: what we know may be old.
  const first = trunks.find(trunk => trunk.status !== 'unreachable') ?? trunks[0]
  if (from === undefined) return first
  const number = await scoped.select('phone_numbers').selectAll().where('number', '=', from).executeTakeFirst()
  return trunks.find(trunk => trunk.id === number?.connection_id) ?? first
}
