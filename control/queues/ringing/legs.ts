import {
  type BrowserTarget,
  type Commands,
  type DialTarget,
  type EndedReason,
  type Failure,
  isFailure,
  isPublicAddress,
  isUndecided,
  type PaymentPause,
} from '../../../media/protocol.ts'
import { affinityOf, ownRoom } from '../../calls/conductor/decide.ts'
import { isFull, outsideProblem, roomWithAll, wayTo } from '../../calls/dial.ts'
import { BUSY_TONE, findLeg, type LegChange, writeLeg } from '../../calls/legs.ts'
import { tenantOf } from '../../calls/records.ts'
import { sandboxTarget } from '../../calls/sandbox.ts'
import type { CallRow, ParticipantRow } from '../../calls/tables.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { CODECS } from '../../trunks/codecs.ts'
import type { ConnectionRow } from '../../trunks/tables.ts'
import type { CallCentreDeps } from '../deps.ts'
import { holdAudio } from '../hold-audio.ts'
import { settingsOf } from '../settings/store.ts'
import { speakerOf } from '../speaker.ts'
import { findCall, positionOf } from '../waiting-calls.ts'
import { isUnsettled } from './late-devices.ts'
import { findRing, type Onward, type RingTarget, ringsOf } from './rings.ts'

/**
 * What legs are to do next, as commands. A leg's step says what is to be sent, so that whoever comes after a crash sends the same;
 * what was done already does no harm.
 */

/** Legs that one drive looks at. */
const MAX_LEGS = 500

export type LegGone = (leg: ParticipantRow, reason: EndedReason) => Promise<void>

/**
 * Sends what the rows call for; `gone` is told of legs that media does not have, or cannot dial. The legs of a call are driven one after
 * the other, calls at once: one of them may wait for its announcement to be spoken. `underWay`: calls that a drive before this one is
 * not done with, which are left to the next, and from now on these.
 */
export async function driveLegs(
  deps: CallCentreDeps,
  media: MediaPort,
  gone: LegGone,
  underWay: Map<string, Promise<void>>,
): Promise<void> {
  const byCall = new Map<string, ParticipantRow[]>()
  for (const leg of await legsToDrive(deps.store.db)) {
    if (underWay.has(leg.call_id)) continue
    byCall.set(leg.call_id, [...(byCall.get(leg.call_id) ?? []), leg])
  }
  const driveCall = async (legs: readonly ParticipantRow[]): Promise<void> => {
    for (const leg of legs) {
      try {
        await driveOn(deps, media, leg, gone)
      } catch (error) {
        // One that goes wrong must not keep the others waiting; it is tried again in the next pass.
        deps.log.warn({ err: error, legId: leg.id, step: leg.step }, 'driving a leg failed')
      }
    }
  }
  const drives = [...byCall].map(([callId, legs]) => {
    const done = driveCall(legs).finally(() => underWay.delete(callId))
    underWay.set(callId, done)
    return done
  })
  await Promise.all(drives)
}

async function driveOn(deps: CallCentreDeps, media: MediaPort, listed: ParticipantRow, gone: LegGone): Promise<void> {
  const leg = await findLeg(deps.store.db, tenantOf(listed), listed.id)
  // Something has happened to it since the rows were read, and the run that follows knows.
  if (leg?.step !== listed.step) return
  const failure = await driveLeg(deps, media, leg)
  if (failure === null || isUndecided(failure)) return
  // It is rung once it is there, or not at all.
  if (failure.failure === 'not_found' && leg.step === 'to_dial' && (await isUnsettled(deps.store.db, leg))) return
  deps.log.warn({ legId: leg.id, step: leg.step, ...failure }, 'media could not do it')
  if (leg.step === 'to_dial') await gone(leg, reasonOf(failure))
  if (failure.failure !== 'not_found') return
  // It may never have been dialled: then no event tells of its end.
  if (leg.step === 'hanging_up') await gone(leg, leg.leave_reason ?? 'api_hangup')
  // The call is over, but who answered for it is still there, and would hear nothing for ever.
  if (leg.step === 'bridging') await media.request('leg.hangup', { legId: leg.id, reason: 'caller_hangup' })
  // Any other has ended in this moment, and the event that says why is on its way.
}

const legsToDrive = (db: Db): Promise<ParticipantRow[]> =>
  db
    .selectFrom('participants')
    .selectAll()
    .where('node_id', '=', nodeOf(db))
    .where(eb =>
      eb.or([
        eb('step', 'in', ['to_dial', 'bridging']),
        // Who hears a tone first is hung up by media when that is over.
        eb.and([eb('step', '=', 'hanging_up'), eb.or([eb('leave_prompt', 'is', null), eb('prompted', '=', 0)])]),
        eb.and([eb('step', 'in', ['queued', 'calling', 'connected', 'bridged']), eb('prompted', '=', 0)]),
        eb.and([eb('step', '=', 'settled'), eb('on_hold', 'is not', null), eb('prompted', '=', 0)]),
      ]),
    )
    .orderBy('id')
    .limit(MAX_LEGS)
    .execute()

const reasonOf = ({ failure }: Failure): EndedReason =>
  failure === 'capacity' ? 'capacity' : failure === 'not_found' ? 'not_found' : 'internal_error'

/** Null: done. */
async function driveLeg(deps: CallCentreDeps, media: MediaPort, leg: ParticipantRow): Promise<Failure | null> {
  const { db } = deps.store
  const tenant = tenantOf(leg)
  const call = await findCall(db, tenant, leg.call_id)
  switch (leg.step) {
    case 'to_dial':
      return dial(deps, media, { leg, call, tenant })
    case 'bridging':
      return bridge(deps, media, { leg, call, tenant })
    case 'hanging_up':
      if (leg.leave_prompt === BUSY_TONE) return done(db, leg, await busyTone(media, leg.id))
      return failureOf(await media.request('leg.hangup', { legId: leg.id, reason: leg.leave_reason ?? 'api_hangup' }))
    case 'queued':
      return done(db, leg, await hold(deps, media, { leg, tenant }))
    case 'calling':
      return done(db, leg, await release(media, leg), () => ringback(media, leg.id))
    default:
      return done(db, leg, await release(media, leg), () =>
        leg.on_hold === 1 ? Promise.resolve({}) : media.request('leg.stop_play', { legId: leg.id }),
      )
  }
}

const failureOf = (reply: object): Failure | null => (isFailure(reply) ? reply : null)

/** Its audio is as it should be, for as long as it stays in this step. */
async function done(
  db: Db,
  leg: ParticipantRow,
  reply: object,
  next: () => Promise<object> = async () => ({}),
): Promise<Failure | null> {
  const failure = failureOf(reply) ?? failureOf(await next())
  if (failure !== null) return failure
  const prompted = forTenant(db, tenantOf(leg))
    .update('participants')
    .set({ prompted: 1 })
    .where('id', '=', leg.id)
    .where('step', '=', leg.step)
  // Put on hold meanwhile, or taken back: that is still to be sent.
  await (leg.on_hold === null
    ? prompted.where('on_hold', 'is', null)
    : prompted.where('on_hold', '=', leg.on_hold)
  ).execute()
  return null
}

/** On hold, or back from it; one that never was is left alone. */
async function release(media: MediaPort, leg: ParticipantRow): Promise<object> {
  if (leg.on_hold === null) return {}
  return media.request('leg.hold', { legId: leg.id, held: leg.on_hold === 1, sources: [{ kind: 'music' }] })
}

const ringback = (media: MediaPort, legId: string) =>
  media.request('leg.play', {
    legId,
    playId: 'calling',
    sources: [{ kind: 'tone', name: 'ringback' }],
    loop: true,
    hangupAfter: null,
  })

/** A second each. */
const BUSY_TONES = 5

const busyTone = (media: MediaPort, legId: string) =>
  media.request('leg.play', {
    legId,
    playId: BUSY_TONE,
    sources: Array.from({ length: BUSY_TONES }, () => ({ kind: 'tone' as const, name: 'busy' as const })),
    loop: false,
    hangupAfter: 'busy',
  })

// ---------------------------------------------------------------------------------------------------- dialling

interface Around {
  leg: ParticipantRow
  call: CallRow | undefined
  tenant: Tenant
}

/** Takes a leg on from the step that it was driven in, unless it is in another by now; returns it as it is then. */
const advance = (store: Store, { id, step, ...columns }: ParticipantRow, change: LegChange) =>
  store.transaction(async trx => {
    const tenant = tenantOf(columns)
    if ((await findLeg(trx, tenant, id))?.step === step) await writeLeg(trx, tenant, id, change)
    return findLeg(trx, tenant, id)
  })

/** Into a room of its own: it comes into the call's when it is the first to answer. */
async function dial(deps: CallCentreDeps, media: MediaPort, { leg, call, tenant }: Around): Promise<Failure | null> {
  const { timeoutS, onward, ...target } = JSON.parse(leg.dial ?? '{}') as RingTarget & Dialling
  const own = leg.ring_id === null && call !== undefined
  const { db } = deps.store
  const room = own ? await roomWithAll(db, deps.streams, { call, participant: leg }) : waitingRoom(leg.id)
  const place = { legId: leg.id, room, affinity: affinityOf(leg) }
  const reply = await (target.kind === 'leg'
    ? media.request('leg.answer', { ...place, codecs: CODECS })
    : dialOut(deps, media, { leg, call, tenant }, target, { ...place, timeoutS, onward }))
  // It was dialled before: the process that did so died before it could write it down.
  if (isFailure(reply) && reply.failure !== 'conflict') return reply
  // What came first stays: its answer, or its end, for which media had nothing to hang up then.
  const now = await advance(deps.store, leg, { step: 'dialing' })
  if (now === undefined || now.step === 'ended') {
    await media.request('leg.hangup', { legId: leg.id, reason: now?.leave_reason ?? 'api_hangup' })
  }
  return null
}

type Dialling = { timeoutS: number; onward?: Onward | undefined }

async function dialOut(
  deps: CallCentreDeps,
  media: MediaPort,
  around: Around,
  target: Exclude<RingTarget, { kind: 'leg' }>,
  { onward, ...how }: Omit<Commands['leg.dial']['request'], 'target'> & Dialling,
): Promise<object> {
  const way = await dialTarget(deps, around, target, onward)
  return 'failure' in way ? way : media.request('leg.dial', { ...how, target: way })
}

const waitingRoom = (legId: string) => ({
  roomId: legId,
  kind: 'call' as const,
  chimes: false,
  musicWhenAlone: false,
  maxMembers: 1,
})

async function dialTarget(
  { store, sipHost, vault, loopback }: CallCentreDeps,
  { leg, call, tenant }: Around,
  target: Exclude<RingTarget, { kind: 'leg' }>,
  onward: Onward | undefined,
): Promise<DialTarget | BrowserTarget | Failure> {
  if (target.kind === 'browser') {
    const dialled = onward?.to ?? (leg.ring_id === null ? call?.to_address : undefined)
    const info = dialled === undefined ? await shownOf(store.db, tenant, call) : { dialled }
    return { browserId: target.browserId, info }
  }
  if (target.kind === 'address') {
    if (!tenant.livemode) {
      const refused = await outsideProblem(store.db, tenant, target.to)
      if (refused !== null) return { failure: 'invalid', message: refused.message }
      if (loopback === undefined) return { failure: 'invalid', message: 'there is no sandbox here' }
      return sandboxTarget(target.to, leg.id, loopback)
    }
    const from = target.from ?? (call === undefined ? null : ourNumber(call))
    const way = await wayTo(store.db, tenant, { to: target.to, from: from ?? undefined }, { sipHost, vault })
    if ('problem' in way) return { failure: 'invalid', message: way.message }
    const isFree = way.connection === null || (await takeLine(store, leg, way.connection))
    return isFree ? way.target : { failure: 'capacity', message: 'the connection carries its `max_calls` already' }
  }
  const caller =
    call === undefined || call.direction === 'outbound' ? (call?.to_address ?? 'tandem') : call.from_address
  return {
    uri: target.uri,
    from: { uri: caller.startsWith('sip:') ? caller : `sip:${caller}@${sipHost}` },
    via: target.via,
    // A phone of our own network may name others of it; it has proved whose it is.
    publicOnly: target.via === null || isPublicAddress(target.via.host),
    credentials: null,
    codecs: CODECS,
    srtp: 'optional',
  }
}

/** A leg counts on the connection that it is dialled over. False: that carries all it may. */
const takeLine = (store: Store, leg: ParticipantRow, connection: ConnectionRow): Promise<boolean> =>
  store.transaction(async trx => {
    if (await isFull(trx, connection, leg.id)) return false
    const own = forTenant(trx, tenantOf(leg)).update('participants').set({ connection_id: connection.id })
    await own.where('id', '=', leg.id).execute()
    return true
  })

/** What a softphone shows while it rings. */
async function shownOf(db: Db, tenant: Tenant, call: CallRow | undefined): Promise<Record<string, string>> {
  if (call === undefined) return {}
  const queue = call.queue_id === null ? undefined : await forTenant(db, tenant).find('queues', call.queue_id)
  const caller = call.direction === 'outbound' ? call.to_address : call.from_address
  return { call_id: call.id, caller, ...(queue === undefined ? {} : { queue: queue.name }) }
}

/** The number that somebody called us at is the one that we call others from. */
const ourNumber = (call: CallRow): string | null => {
  const ours = call.direction === 'inbound' ? call.to_address : call.from_address
  return ours.startsWith('+') ? ours : null
}

// ---------------------------------------------------------------------------------------------------- bridging

/** Into the room of the call. A supervisor comes in muted, until it is set who hears him. */
async function bridge(deps: CallCentreDeps, media: MediaPort, { leg, call, tenant }: Around): Promise<Failure | null> {
  const { db } = deps.store
  const ring = leg.ring_id === null ? undefined : await findRing(db, tenant, leg.ring_id)
  if (ring === undefined || call === undefined) return { failure: 'not_found', message: 'the call is over' }
  const isSupervisor = ring.purpose === 'supervise'
  const room = ownRoom({ ...call, target: call.target === 'echo' ? 'park' : call.target })
  const isFirst = ring.purpose === 'callback' || ring.purpose === 'placed'
  const payment = ring.payment === null ? {} : { payment: JSON.parse(ring.payment) as PaymentPause }
  const place = { legId: leg.id, room, mustExist: !isFirst, muted: isSupervisor }
  const moved = await media.request('leg.move', { ...place, ...payment })
  if (isFailure(moved)) return moved
  if (isSupervisor) {
    const update = await superviseAs(db, tenant, ring.mode, call.id)
    const reply = await media.request('leg.update', { legId: leg.id, muted: false, ...update })
    if (isFailure(reply)) return reply
  } else if (isFirst) await ringback(media, leg.id)
  await advance(deps.store, leg, { step: 'bridged', prompted: 1, joined_at: deps.now().toISOString() })
  return null
}

/** Who hears a supervisor: monitor nobody, whisper the agent, barge all. */
export async function superviseAs(
  db: Db,
  tenant: Tenant,
  mode: string | null,
  callId: string,
): Promise<{ heardBy: string[] | null; hears: null }> {
  if (mode === 'barge') return { heardBy: null, hears: null }
  if (mode === 'monitor') return { heardBy: [], hears: null }
  const rings = await ringsOf(db, tenant, callId)
  const agents = rings.filter(ring => ring.purpose !== 'supervise').flatMap(ring => ring.leg_id ?? [])
  return { heardBy: agents, hears: null }
}

// ---------------------------------------------------------------------------------------------------- waiting

/** The queue's announcement, the place in line, and then its hold audio over and over. */
async function hold(
  { store: { db }, now, assetFile }: CallCentreDeps,
  media: MediaPort,
  { leg, tenant }: Omit<Around, 'call'>,
): Promise<object> {
  const scoped = forTenant(db, tenant)
  const row = await scoped.find('queue_calls', leg.call_id)
  const queue = row === undefined ? undefined : await scoped.find('queues', row.queue_id)
  if (row === undefined || queue === undefined) return {}
  const settings = settingsOf(queue)
  const { audio_asset_id: asset } = settings.hold
  const { said, loop: sources } = holdAudio(settings, {
    position: await positionOf(db, tenant, row),
    isNew: row.announce_at === null || row.announce_at === row.joined_at,
    speaker: await speakerOf(scoped, settings),
    assetFile: asset === null ? null : assetFile(asset),
  })
  let isSaid = false
  // What cannot be spoken, in a language that no voice has for example, is left out: the caller hears what is recorded all the same.
  for (const rest of [said, said.filter(source => source.kind === 'speech' && source.recorded !== undefined)]) {
    if (isSaid || rest.length === 0) continue
    const saying = { legId: leg.id, playId: 'hold-said', sources: rest, loop: false, hangupAfter: null }
    const reply = await media.request('leg.play', saying)
    if (isFailure(reply) && reply.failure !== 'invalid') return reply
    isSaid = !isFailure(reply)
  }
  if (row.announce_at !== null) {
    const announce_at = new Date(now().getTime() + settings.hold.position_interval_seconds * 1000).toISOString()
    await scoped.update('queue_calls').set({ announce_at }).where('id', '=', row.id).execute()
  }
  return media.request('leg.play', {
    legId: leg.id,
    playId: 'hold',
    sources,
    loop: true,
    hangupAfter: null,
    ...(isSaid ? { append: true } : {}),
  })
}
