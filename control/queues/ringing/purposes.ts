import type { EndedReason } from '../../../media/protocol.ts'
import { hangUpLeg, mainLeg, setLeg, turnAway } from '../../calls/legs.ts'
import { insertParty } from '../../calls/records.ts'
import { isLeadable } from '../../calls/steps/table.ts'
import type { ParticipantRow } from '../../calls/tables.ts'
import { newId } from '../../kernel/ids.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { HIDDEN_CALLER } from '../../trunks/caller-identity.ts'
import { callProblem } from '../../usage/allowance.ts'
import { becomeBusy, endWork, missedRing } from '../agent-status.ts'
import type { CallCentreParts } from '../deps.ts'
import { settingsOf } from '../settings/store.ts'
import type { RingPurpose, RingRow } from '../tables.ts'
import { leadTo, leaveVoicemail, tellCall } from '../targets.ts'
import { joinedBefore, leaveQueue, offerFailed } from '../waiting-calls.ts'
import { type By, meet, tellHold } from './holding.ts'
import { agentAccepted, agentMissed } from './returning.ts'
import { finishRing, isAsking, type Onward, otherCallOf, ringsOf } from './rings.ts'

interface Happening {
  deps: CallCentreParts
  trx: Trx
  tenant: Tenant
  ring: RingRow
  at: string
}

/** What happens when a ring of some purpose is answered, ends unanswered (`failed`), or when the party that answered it leaves (`over`). */
interface Purpose {
  answered(happening: Happening, leg: ParticipantRow): Promise<void>
  failed(happening: Happening, reason: EndedReason): Promise<void>
  over(happening: Happening, reason: EndedReason): Promise<void>
}

const queue: Purpose = {
  async answered({ trx, tenant, ring, at }) {
    await leaveQueue(trx, tenant, ring.call_id, { outcome: 'answered', at })
    await connect(trx, tenant, ring, at)
  },
  async failed({ trx, tenant, ring, at }, reason) {
    const userId = ring.user_id ?? ''
    await offerFailed(trx, tenant, ring.call_id, userId)
    await missedRing(trx, tenant, userId, { isAway: await isAwayOnMissed(trx, tenant, ring, reason), at })
  },
  over: leftAlone,
}

const direct: Purpose = {
  async answered({ trx, tenant, ring, at }) {
    await connect(trx, tenant, ring, at)
  },
  async failed({ deps, trx, tenant, ring, at }, reason) {
    if (ring.user_id !== null) await missedRing(trx, tenant, ring.user_id, { isAway: false, at })
    const caller = await mainLeg(trx, tenant, ring.call_id)
    if (caller === undefined || caller.step === 'ended') return
    if (await leaveVoicemail(deps, trx, tenant, { ring, callId: ring.call_id, legId: caller.id, at })) return
    await turnAway(trx, tenant, caller.id, endedBecause(reason, ring))
  },
  over: leftAlone,
}

/** The consulted party joins the call's room, where the caller is on hold and neither hears nor is heard. */
const consult: Purpose = {
  async answered({ trx, tenant, ring, at }) {
    if (ring.user_id !== null) await becomeBusy(trx, tenant, ring.user_id, at)
  },
  async failed({ trx, tenant, ring, at }) {
    if (ring.user_id !== null) await missedRing(trx, tenant, ring.user_id, { isAway: false, at })
    await meet(trx, tenant, ring.call_id, { at })
  },
  async over({ trx, tenant, ring, at }) {
    await agentFree(trx, tenant, ring, at)
    await meet(trx, tenant, ring.call_id, { at })
  },
}

const callback: Purpose = {
  async answered({ deps, trx, tenant, ring, at }) {
    // Other calls may have reached the organisation's limit while the agent's phone rang. The callback then becomes due again later.
    if ((await callProblem(trx, tenant, at)) !== null) {
      await finishRing(trx, tenant, ring, { reason: 'capacity' })
      return callback.failed({ deps, trx, tenant, ring, at }, 'capacity')
    }
    if (!(await agentAccepted(trx, tenant, ring, at))) {
      return finishRing(trx, tenant, ring, { reason: 'api_hangup' })
    }
    if (ring.user_id !== null) await becomeBusy(trx, tenant, ring.user_id, at)
  },
  async failed({ deps, trx, tenant, ring, at }, reason) {
    const userId = ring.user_id ?? ''
    const isAway = await isAwayOnMissed(trx, tenant, ring, reason)
    if (reason !== 'capacity') await missedRing(trx, tenant, userId, { isAway, at })
    const hours = await deps.businessHoursOf(trx, tenant)
    await agentMissed(trx, tenant, { ring, reason, hours, at })
  },
  over: leftAlone,
}

/** The program that leads the call decides what follows. */
const led: Purpose = {
  async answered({ deps, trx, tenant, ring, at }, leg) {
    if (ring.user_id !== null) await becomeBusy(trx, tenant, ring.user_id, at)
    await deps.led?.told(trx, tenant, ring.call_id, { kind: 'ring_answered', ringId: ring.id, legId: leg.id })
  },
  async failed({ deps, trx, tenant, ring, at }, reason) {
    if (ring.user_id !== null) await missedRing(trx, tenant, ring.user_id, { isAway: false, at })
    await deps.led?.told(trx, tenant, ring.call_id, { kind: 'ring_ended', ringId: ring.id, reason, talked: false })
  },
  async over({ deps, trx, tenant, ring, at }, reason) {
    await agentFree(trx, tenant, ring, at)
    await deps.led?.told(trx, tenant, ring.call_id, { kind: 'ring_ended', ringId: ring.id, reason, talked: true })
  },
}

/** By REFER: the member who asked for the transfer keeps the call until the target answers, and is then free. */
const referred: Purpose = {
  async answered({ trx, tenant, ring, at }) {
    const before = (await ringsOf(trx, tenant, ring.call_id)).filter(one => one.open_call !== null)
    await endRingsOf(trx, tenant, before, { reason: 'transfer_completed', at })
    await takeOver(trx, tenant, { ...ring, state: 'talking' }, { at })
    if (ring.user_id !== null) await becomeBusy(trx, tenant, ring.user_id, at)
  },
  failed: consult.failed,
  over: leftAlone,
}

/** How long a party outside is rung. */
const OUT_TIMEOUT_S = 60

/** Once the member's device has answered, the called party is dialled. */
const placed: Purpose = {
  async answered({ trx, tenant, ring, at }, leg) {
    const { onward } = JSON.parse(leg.dial ?? '{}') as { onward?: Onward }
    if (onward === undefined || ring.user_id === null) return
    // Other calls may have reached the organisation's limit while the device rang.
    if ((await callProblem(trx, tenant, at)) !== null) return finishRing(trx, tenant, ring, { reason: 'capacity' })
    await callOnward(trx, tenant, { callId: ring.call_id, userId: ring.user_id, onward, at })
  },
  async failed() {},
  over: leftAlone,
}

/** Calls the party outside that a member has dialled. */
export async function callOnward(
  trx: Trx,
  tenant: Tenant,
  { callId, userId, onward, at }: { callId: string; userId: string; onward: Onward; at: string },
): Promise<void> {
  await becomeBusy(trx, tenant, userId, at)
  const { to, from, connectionId, isAnonymous = false, metadata = {} } = onward
  const number = from.startsWith('+') ? from : null
  const dial = { kind: 'address', to, from: number, isAnonymous, timeoutS: OUT_TIMEOUT_S }
  const party = { callId, legId: newId('participant'), direction: 'outbound' as const, to, from, userId, connectionId }
  const identity = isAnonymous ? HIDDEN_CALLER : null
  const what = { target: 'number' as const, roomId: null, dial: JSON.stringify(dial), identity }
  await insertParty(trx, tenant, { ...party, ...what, metadata, role: 'member', muted: false }, at)
}

const supervise: Purpose = { async answered() {}, async failed() {}, async over() {} }

export const PURPOSES: Record<RingPurpose, Purpose> = {
  queue,
  direct,
  transfer: direct,
  consult,
  callback,
  supervise,
  led,
  placed,
  referred,
}

async function connect(trx: Trx, tenant: Tenant, ring: RingRow, at: string): Promise<void> {
  const caller = await mainLeg(trx, tenant, ring.call_id)
  if (caller !== undefined) await setLeg(trx, tenant, caller.id, { step: 'connected' })
  await meet(trx, tenant, ring.call_id, { at })
  if (ring.user_id === null) return
  await forTenant(trx, tenant).change('calls', ring.call_id, { user_id: ring.user_id })
  await becomeBusy(trx, tenant, ring.user_id, at)
}

/** Nobody has hung up: a carrier in front of us is told so, too (Q.850 cause 41, not 16). */
const isHeardNoMore = (reason: EndedReason): boolean => reason === 'rtp_timeout' || reason === 'session_expired'

/** The answerer has left: the caller is hung up, or goes to a consulted party, or back to its queue if the agent's phone was lost. */
async function leftAlone({ deps, trx, tenant, ring, at }: Happening, reason: EndedReason): Promise<void> {
  await agentFree(trx, tenant, ring, at)
  const asked = (await ringsOf(trx, tenant, ring.call_id)).find(isAsking)
  if (asked !== undefined) return takeOver(trx, tenant, asked, { at })
  const caller = await mainLeg(trx, tenant, ring.call_id)
  if (caller === undefined) return
  const isLost = reason === 'rtp_timeout' && ring.purpose === 'queue' && isLeadable(caller.step)
  const id = isLost ? (await forTenant(trx, tenant).find('queues', ring.queue_id ?? ''))?.id : undefined
  if (id === undefined) return hangUpLeg(trx, tenant, caller.id, isHeardNoMore(reason) ? reason : 'agent_hangup')
  if (caller.on_hold === 1) await setLeg(trx, tenant, caller.id, { on_hold: 0 })
  await tellHold(trx, tenant, ring.call_id, { at })
  const target = { type: 'queue' as const, id, since: await joinedBefore(trx, tenant, ring.call_id, id) }
  await leadTo(deps, trx, tenant, { callId: ring.call_id, legId: caller.id, at }, target, 'transfer')
}

/** Gives the call to the consulted party, now or once that one answers. */
export async function takeOver(trx: Trx, tenant: Tenant, ring: RingRow, by: By): Promise<void> {
  const scoped = forTenant(trx, tenant)
  await scoped.change('rings', ring.id, { purpose: 'transfer', open_call: ring.call_id })
  const whose =
    ring.user_id === null ? { target: 'number' as const } : { target: 'user' as const, user_id: ring.user_id }
  await scoped.change('calls', ring.call_id, whose)
  const caller = await mainLeg(trx, tenant, ring.call_id)
  if (caller === undefined) return
  const step = ring.state === 'talking' ? 'connected' : 'calling'
  await setLeg(trx, tenant, caller.id, { step, on_hold: 0 })
  await meet(trx, tenant, ring.call_id, by)
  await tellCall(trx, tenant, ring.call_id, { type: 'call.transferred', ...by })
}

/** After a call: the agent gets the queue's wrap-up, unless the agent talks on another call. */
export async function agentFree(trx: Trx, tenant: Tenant, ring: RingRow, at: string): Promise<void> {
  if (ring.open_user === null || ring.state !== 'talking') return
  if (await otherCallOf(trx, tenant, ring.open_user)) return
  const queueRow = ring.queue_id === null ? undefined : await forTenant(trx, tenant).find('queues', ring.queue_id)
  const wrapUpSeconds = queueRow === undefined ? 0 : settingsOf(queueRow).wrap_up_seconds
  await endWork(trx, tenant, ring.open_user, { wrapUpSeconds, at })
}

/** Whether the agent becomes away: after ringing unanswered, not after declining. Without a queue always, or the phone would ring for days. */
async function isAwayOnMissed(db: Db, tenant: Tenant, ring: RingRow, reason: EndedReason): Promise<boolean> {
  if (reason !== 'no_answer') return false
  const queueRow = ring.queue_id === null ? undefined : await forTenant(db, tenant).find('queues', ring.queue_id)
  if (queueRow !== undefined) return settingsOf(queueRow).away_on_missed
  return (await forTenant(db, tenant).find('callbacks', ring.callback_id ?? ''))?.status === 'offered'
}

/** A number that our trunks do not reach has not been rung: 500, as 503 would say that we take no calls (RFC 3261 §16.7). */
function endedBecause(reason: EndedReason, { user_id }: RingRow): EndedReason {
  if (reason === 'busy' || reason === 'rejected' || reason === 'not_found') return reason
  const isTrunks = user_id === null && ['trunk_error', 'capacity', 'codec_mismatch'].includes(reason)
  return isTrunks ? 'trunk_error' : 'no_answer'
}

/** Ends rings; agents who talked are free. */
export async function endRingsOf(
  trx: Trx,
  tenant: Tenant,
  rings: readonly RingRow[],
  { reason, at }: { reason: EndedReason; at: string },
): Promise<void> {
  for (const ring of rings) {
    await finishRing(trx, tenant, ring, { reason })
    await agentFree(trx, tenant, ring, at)
  }
}
