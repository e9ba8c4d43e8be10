import { findLeg, hangUpLeg, setLeg } from '../calls/legs.ts'
import type { LegEnd } from '../calls/steps/decide.ts'
import type { ParticipantRow } from '../calls/tables.ts'
import { isKnownAbsent, type Place, rowOf } from '../kernel/store/compiled.ts'
import type { Trx } from '../kernel/store/store.ts'
import { ofTenant, type Tenant, tenantOf, valuesOf } from '../kernel/tenancy.ts'
import type { CallCentreParts } from './deps.ts'
import { meet } from './ringing/holding.ts'
import { endRingsOf } from './ringing/purposes.ts'
import { callBackOver, callbackReturnedBy, personAnswered } from './ringing/returning.ts'
import { mainRing, ringsOf } from './ringing/rings.ts'
import { leadAnswered, leadTo } from './targets.ts'
import { transferLost } from './transfers/records.ts'
import { findCall, joinQueue, leaveQueue } from './waiting-calls.ts'

/** What events of a call's own leg mean for its queue, rings, callback and transfer. */

/** The own leg of a call for a queue, a user, a number or a callback has been answered. Returns whether anything was done. */
export async function callAnswered(
  deps: CallCentreParts,
  trx: Trx,
  before: ParticipantRow,
  at: string,
): Promise<boolean> {
  const { id: legId, call_id: callId } = before
  const tenant = tenantOf(before)
  // Read again: the answer has been stored meanwhile.
  const leg = await findLeg(trx, tenant, legId)
  const call = await findCall(trx, tenant, callId)
  if (leg === undefined || call === undefined || call.ended_at !== null) return false
  const led = { callId, legId, at }
  if (before.unanswered !== null) return leadAnswered(deps, trx, tenant, led, leg)
  const ring = await mainRing(trx, tenant, callId)
  if (leg.step === 'queued' && call.queue_id !== null) {
    await joinQueue(trx, tenant, { ...led, queueId: call.queue_id })
  } else if (ring?.purpose === 'placed') {
    await setLeg(trx, tenant, legId, { step: 'connected' })
    await meet(trx, tenant, callId, { at })
    const agent = ring.leg_id === null ? undefined : await findLeg(trx, tenant, ring.leg_id)
    // The member's leg stops the ringback or, if it is itself unanswered, is answered now.
    if (agent !== undefined) await setLeg(trx, tenant, agent.id, agent.unanswered === null ? {} : { step: 'bridging' })
  } else if (leg.step === 'calling' && ring === undefined) {
    if (call.target !== 'user' || call.user_id === null) return false
    await leadTo(deps, trx, tenant, led, { type: 'user', id: call.user_id })
  } else if (call.target === 'callback') await personReached(deps, trx, tenant, led)
  else return false
  return true
}

async function personReached(
  deps: CallCentreParts,
  trx: Trx,
  tenant: Tenant,
  led: { callId: string; legId: string; at: string },
): Promise<void> {
  const callback = await callbackReturnedBy(trx, tenant, led.callId)
  if (callback === undefined) return
  await personAnswered(trx, tenant, callback, led.at)
  const ring = await mainRing(trx, tenant, led.callId)
  if (callback.route === 'assistant' && callback.assistant_id !== null) {
    await leadTo(deps, trx, tenant, led, { type: 'assistant', id: callback.assistant_id })
  } else if (ring?.leg_id != null) {
    await setLeg(trx, tenant, ring.leg_id, {})
    await meet(trx, tenant, led.callId, { at: led.at })
  }
  // The agent has just hung up.
  else await hangUpLeg(trx, tenant, led.legId, 'agent_hangup')
}

/** Whether a call has a row of the call centre. Most calls that end have none, so this is one query or, if rows are known to be absent, none. */
async function isConcern(trx: Trx, tenant: Tenant, callId: string): Promise<boolean> {
  const isKnown =
    isKnownAbsent(trx, 'queue_calls', { id: callId }) &&
    isKnownAbsent(trx, 'call_transfers', { call_id: callId }) &&
    isKnownAbsent(trx, 'rings', { call_id: callId }) &&
    isKnownAbsent(trx, 'callbacks', { call_id: callId })
  if (isKnown) return false
  const build = (place: Place) => {
    const ofTheirs = (table: 'queue_calls' | 'call_transfers' | 'rings' | 'callbacks', column: 'id' | 'call_id') =>
      ofTenant(trx, table, place)
        .select(`${table}.id` as 'rings.id')
        .where(`${table}.${column}` as 'rings.id', '=', place('call'))
    return trx.selectNoFrom(({ exists, or }) =>
      or([
        exists(ofTheirs('queue_calls', 'id')),
        exists(ofTheirs('call_transfers', 'call_id')),
        exists(ofTheirs('rings', 'call_id')),
        exists(ofTheirs('callbacks', 'call_id')),
      ]).as('found'),
    )
  }
  const row = await rowOf(trx, 'concern of a call that ends', build, { call: callId, ...valuesOf(tenant) })
  return Boolean(row?.found)
}

/** Why a caller who has not hung up waits no more. */
const OURS: ReadonlySet<LegEnd['reason']> = new Set(['media_failed', 'node_lost', 'shutdown', 'internal_error'])

/** Returns whether the call was one of the call centre's: then an agent may be free now. */
export async function callEnded(
  deps: CallCentreParts,
  trx: Trx,
  leg: ParticipantRow,
  { reason, cause, isUnsent = false }: Pick<LegEnd, 'reason' | 'cause' | 'isUnsent'>,
  at: string,
): Promise<boolean> {
  const tenant = tenantOf(leg)
  const callId = leg.call_id
  if (!(await isConcern(trx, tenant, callId))) return false
  const outcome = reason === 'api_hangup' ? 'hung_up' : OURS.has(reason) ? 'failed' : 'abandoned'
  await leaveQueue(trx, tenant, callId, { outcome, at })
  await transferLost(trx, tenant, callId, at)
  // A CANCEL with `Reason: SIP;cause=200` (RFC 3326) means that the call also rang elsewhere and was answered there.
  const isTaken = leg.unanswered !== null && cause?.sip === 200
  const agentReason = isTaken ? 'answered_elsewhere' : reason === 'agent_hangup' ? 'caller_hangup' : reason
  await endRingsOf(trx, tenant, await ringsOf(trx, tenant, callId), { reason: agentReason, at })
  const callback = await callbackReturnedBy(trx, tenant, callId)
  if (callback === undefined) return true
  const hours = await deps.businessHoursOf(trx, tenant)
  // Where nobody was called, it was no attempt.
  await callBackOver(trx, tenant, callback, { reason: isUnsent ? 'capacity' : reason, hours, at })
  return true
}
