import type { EndedReason, PaymentPause } from '../../media/protocol.ts'
import type { Led } from '../assistants/actions/reach.ts'
import { toCall } from '../calls/call-schema.ts'
import { joinCapture } from '../calls/capture/later-capture.ts'
import { findLeg, hangUpLeg, mainLeg, setLeg, turnAway, writeLeg } from '../calls/legs.ts'
import { keepOf } from '../calls/steps/follow.ts'
import { isGoing } from '../calls/steps/table.ts'
import type { ParticipantRow } from '../calls/tables.ts'
import type { EventType } from '../kernel/events/catalog.ts'
import { appendEvent } from '../kernel/events/log.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { CallCentreParts, Program } from './deps.ts'
import { mayComeBack } from './lost-devices.ts'
import { wayOn } from './ringing/dial.ts'
import { finishRing, ringsOf, startRing } from './ringing/rings.ts'
import { settingsOf } from './settings/store.ts'
import type { RingPurpose, RingRow } from './tables.ts'
import { findCall, joinQueue } from './waiting-calls.ts'

/** Where an answered call can be led. */
export type Target =
  | { type: 'queue'; id: string; since?: string }
  | { type: 'user'; id: string }
  | { type: 'number'; to: string }
  | { type: 'room'; id: string }
  | { type: 'end'; reason: EndedReason }
  | Program

/** A party that can be rung. `to`: a number or SIP URI, over the organisation's connections. */
export type RungParty = { type: 'user'; id: string } | { type: 'number'; to: string }

/** How long a party is rung that no queue offers the call to. */
const DIRECT_TIMEOUT_S = 30

/** What follows once the caller was answered, or heard the recording announcement or question; stored as JSON. */
export interface Then {
  target: Target
  purpose: RingPurpose
}

/**
 * The new target of a call may want to capture it from now on. True: the announcement or question comes first, and `leadOn` then leads
 * the call to the target.
 */
export async function asksFirst(
  { led: programs }: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  led: Led,
  then: Then,
): Promise<boolean> {
  const { target } = then
  if (!(target.type === 'queue' || target.type === 'assistant' || target.type === 'flow')) return false
  const leader = { [`${target.type}Id`]: target.id }
  const joined = await joinCapture(trx, tenant, led, leader, JSON.stringify(then))
  if (joined === 'begun') keepOf(trx, led.callId)
  if (joined !== 'asking') return false
  // The program lets go of the call, so that nothing it would say interrupts the question.
  await programs?.letGo(trx, tenant, led.callId, led.at)
  return true
}

/** Leads a call to a target. If the target cannot take it, the call ends in voicemail or with a reason. */
export async function leadTo(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  led: Led,
  target: Target,
  purpose: RingPurpose = 'direct',
): Promise<void> {
  if (needsAnswer(target) && (await isAnsweredFirst(trx, tenant, led, { target, purpose }))) return
  if (await asksFirst(deps, trx, tenant, led, { target, purpose })) return
  switch (target.type) {
    case 'queue':
      return joinQueue(trx, tenant, { ...led, queueId: target.id, since: target.since })
    case 'user':
    case 'number':
      return leadToParty(deps, trx, tenant, led, target, purpose)
    case 'room':
      // Supervisors do not follow into a conference room: they would remain alone in the call's own room.
      for (const ring of await ringsOf(trx, tenant, led.callId)) {
        if (ring.purpose === 'supervise') await finishRing(trx, tenant, ring, { reason: 'transfer_completed' })
      }
      await forTenant(trx, tenant).change('calls', led.callId, { target: 'room', room_id: target.id })
      return setLeg(trx, tenant, led.legId, { step: 'joining' })
    case 'end':
      return turnAway(trx, tenant, led.legId, target.reason)
    default:
      if (await handOver(deps, trx, tenant, { ...led, program: target })) return
      return hangUpLeg(trx, tenant, led.legId, 'no_answer')
  }
}

/** Targets that speak to the caller. A caller who waits for somebody or is turned away need not be answered. */
const needsAnswer = ({ type }: Target): boolean => !['queue', 'user', 'number', 'end'].includes(type)

export const isProgram = (target: Target): boolean => needsAnswer(target) && target.type !== 'room'

/** True: the caller is unanswered and is answered first; `leadAnswered` then leads it on. */
async function isAnsweredFirst(trx: Trx, tenant: Tenant, { legId }: Led, then: Then): Promise<boolean> {
  const leg = await findLeg(trx, tenant, legId)
  if (leg === undefined || leg.unanswered === null || isGoing(leg.step)) return false
  await setLeg(trx, tenant, legId, { step: 'answering', answered_then: JSON.stringify(then) })
  return true
}

/** A caller has been answered, and is led to the target that needed the answer. False: there is none. */
export async function leadAnswered(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  led: Led,
  { answered_then: json, step }: ParticipantRow,
): Promise<boolean> {
  if (json === null || step !== 'answering') return false
  const { target, purpose } = JSON.parse(json) as Then
  await writeLeg(trx, tenant, led.legId, { answered_then: null })
  await leadTo(deps, trx, tenant, led, target, purpose)
  return true
}

/** Gives a call to a program, after answering it if need be. False: no program takes it. */
export async function handOver(
  deps: Pick<CallCentreParts, 'handOver'>,
  trx: Trx,
  tenant: Tenant,
  given: Led & { program: Program },
): Promise<boolean> {
  const { program: target, ...led } = given
  return (await isAnsweredFirst(trx, tenant, led, { target, purpose: 'direct' })) || deps.handOver(trx, tenant, given)
}

async function leadToParty(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  led: Led,
  target: RungParty,
  purpose: RingPurpose,
): Promise<void> {
  const userId = target.type === 'user' ? target.id : null
  const had = userId === null ? {} : { user_id: userId }
  await forTenant(trx, tenant).change('calls', led.callId, { target: target.type, ...had })
  await setLeg(trx, tenant, led.legId, { step: 'calling' })
  const ring = await ringParty(deps, trx, tenant, { callId: led.callId, target, purpose, at: led.at })
  if (ring !== null) return
  if (userId !== null && (await isGone(trx, tenant, userId))) return turnAway(trx, tenant, led.legId, 'not_found')
  if (await leaveVoicemail(deps, trx, tenant, { ring: { user_id: userId, queue_id: null }, ...led })) return
  await turnAway(trx, tenant, led.legId, 'busy')
}

/** A deactivated member gets no voicemail, since nobody would hear it. */
const isGone = async (trx: Trx, tenant: Tenant, userId: string): Promise<boolean> =>
  (await forTenant(trx, tenant).find('users', userId))?.status === 'deactivated'

/** Rings a user's devices, including one that was lost a moment ago, or a number. Null: the user has no device, or is in a call. */
export async function ringParty(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  {
    callId,
    target,
    purpose,
    at,
    mode = null,
    replaces,
    userToUser,
    ...named
  }: {
    /** ID of the ring; absent: a new one. */
    id?: string
    callId: string
    target: RungParty
    purpose: RingPurpose
    at: string
    mode?: string | null
    payment?: PaymentPause | undefined
    /** The dialog at the far end that the call replaces (RFC 3891). */
    replaces?: string | undefined
    /** What the party is told as it rings (RFC 7433). */
    userToUser?: string | undefined
  },
): Promise<RingRow | null> {
  const common = { ...named, callId, purpose, mode, queueId: null, callbackId: null, timeoutS: DIRECT_TIMEOUT_S }
  if (target.type === 'number') {
    const showsCaller = ['transfer', 'referred', 'led'].includes(purpose) && named.payment === undefined
    const { to } = target
    const targets = [{ kind: 'address' as const, to, from: null, showsCaller, replaces, userToUser }]
    const call = tenant.livemode ? await findCall(trx, tenant, callId) : undefined
    const way = call === undefined ? undefined : await wayOn(deps, trx, tenant, { call, to })
    const connectionId = way === undefined || 'problem' in way ? null : way.connection?.id
    return startRing(trx, tenant, { ...common, connectionId, userId: null, targets, role: 'party', address: to }, at)
  }
  const targets = await deps.devicesOf(trx, tenant, target.id, new Date(at))
  if (targets.length === 0 && !(await mayComeBack(trx, tenant, target.id, new Date(at)))) return null
  const role = purpose === 'supervise' ? 'supervisor' : 'agent'
  return startRing(trx, tenant, { ...common, userId: target.id, targets, role, address: target.id }, at)
}

/** Gives a caller whom nobody answers to voicemail. False: no program takes it. */
export function leaveVoicemail(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  { ring, ...led }: Led & { ring: Pick<RingRow, 'user_id' | 'queue_id'> },
): Promise<boolean> {
  if (ring.user_id === null && ring.queue_id === null) return Promise.resolve(false)
  const program: Program = { type: 'voicemail', queueId: ring.queue_id, userId: ring.user_id }
  return handOver(deps, trx, tenant, { ...led, program })
}

/** Where a queue leads calls that it does not serve (specification, "Queue": `overflow.action`). */
export async function overflowTarget(trx: Trx, tenant: Tenant, queueId: string): Promise<Target> {
  const row = await forTenant(trx, tenant).find('queues', queueId)
  const voicemail: Target = { type: 'voicemail', queueId, userId: null }
  if (row === undefined) return { type: 'end', reason: 'not_found' }
  const { overflow } = settingsOf(row)
  switch (overflow.action) {
    case 'assistant':
      return overflow.assistant_id === null ? voicemail : { type: 'assistant', id: overflow.assistant_id }
    case 'agent':
      return overflow.user_id === null || (await isGone(trx, tenant, overflow.user_id))
        ? voicemail
        : { type: 'user', id: overflow.user_id }
    case 'queue':
      return overflow.queue_id === null ? voicemail : { type: 'queue', id: overflow.queue_id }
    case 'number':
      return { type: 'number', to: overflow.number }
    case 'busy':
      return { type: 'end', reason: 'busy' }
    case 'voicemail':
      return voicemail
  }
}

/** Writes an event with the call as it is now. */
export async function tellCall(
  trx: Trx,
  tenant: Tenant,
  callId: string,
  event: { type: EventType; at: string },
): Promise<void> {
  const call = await findCall(trx, tenant, callId)
  const leg = await mainLeg(trx, tenant, callId)
  if (call === undefined) return
  const object = toCall(call, leg === undefined ? [] : [leg])
  await appendEvent(trx, tenant, { ...event, object, callId })
}
