import type { EndedReason } from '../../media/protocol.ts'
import { hangUpLeg, mainLeg, setLeg, writeLeg } from '../calls/legs.ts'
import { causeText, type LegEnd } from '../calls/steps/decide.ts'
import type { ParticipantRow } from '../calls/tables.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, tenantOf } from '../kernel/tenancy.ts'
import type { CallCentreParts } from './deps.ts'
import { outlivesLeg } from './ringing/late-devices.ts'
import { agentFree, PURPOSES } from './ringing/purposes.ts'
import { finishRing, legsOfRing } from './ringing/rings.ts'
import type { RingRow } from './tables.ts'
import { statusOfReason, transferRingOver } from './transfers/records.ts'

/** Events of the legs that are rung: the first to answer gets the call, the others stop ringing. */

export async function ringAnswered(deps: CallCentreParts, trx: Trx, leg: ParticipantRow, at: string): Promise<void> {
  const tenant = tenantOf(leg)
  // A phone that placed a call and is answered now, after its called party was: nothing else to do.
  if (leg.unanswered !== null) return writeLeg(trx, tenant, leg.id, { unanswered: null })
  // It was hung up as it answered: the ring goes on without it, or is over.
  if (leg.step === 'hanging_up') return setLeg(trx, tenant, leg.id, {})
  const change = { state: 'talking' as const, leg_id: leg.id, started_at: at }
  const ringing = forTenant(trx, tenant).update('rings').set(change).where('id', '=', leg.ring_id)
  const { numUpdatedRows } = await ringing.where('state', '=', 'ringing').executeTakeFirst()
  const ring = await forTenant(trx, tenant).find('rings', leg.ring_id ?? '')
  // Another device was first, or the ring is over.
  if (numUpdatedRows === 0n || ring === undefined) return hangUpLeg(trx, tenant, leg.id, 'answered_elsewhere')
  await finishRing(trx, tenant, ring, { reason: 'answered_elsewhere', keep: leg.id })
  const happening = { deps, trx, tenant, ring, at }
  // A caller who is still unanswered is answered first, because that opens the room that this leg joins.
  const isCallerFirst = (await mainLeg(trx, tenant, ring.call_id))?.unanswered != null
  if (isCallerFirst) await PURPOSES[ring.purpose].answered(happening, leg)
  await setLeg(trx, tenant, leg.id, { step: 'bridging' })
  if (!isCallerFirst) await PURPOSES[ring.purpose].answered(happening, leg)
  await transferRingOver(trx, ring.id, 200, at)
}

export async function ringLegEnded(
  deps: CallCentreParts,
  trx: Trx,
  leg: ParticipantRow,
  end: LegEnd,
  at: string,
): Promise<void> {
  const tenant = tenantOf(leg)
  await setLeg(trx, tenant, leg.id, { step: 'ended', left_at: at, quality: end.quality, cause: causeText(end) })
  const ring = await forTenant(trx, tenant).find('rings', leg.ring_id ?? '')
  if (ring === undefined) return
  if (ring.state === 'ringing') {
    const others = await legsOfRing(trx, tenant, ring.id)
    // A member who declines on one device declines on all.
    const isOver = others.length === 0 && !(await outlivesLeg(trx, tenant, ring, { leg, reason: end.reason, at }))
    if (isOver || end.reason === 'rejected') await ringFailed(deps, trx, ring, end.reason, at)
  } else if (ring.leg_id === leg.id) {
    await finishRing(trx, tenant, ring, { reason: end.reason })
    await PURPOSES[ring.purpose].over({ deps, trx, tenant, ring, at }, end.reason)
  }
}

export async function ringFailed(
  deps: CallCentreParts,
  trx: Trx,
  ring: RingRow,
  reason: EndedReason,
  at: string,
): Promise<void> {
  const tenant = tenantOf(ring)
  await finishRing(trx, tenant, ring, { reason: 'no_answer' })
  const happening = { deps, trx, tenant, ring, at }
  if (ring.state === 'ringing') await PURPOSES[ring.purpose].failed(happening, reason)
  if (ring.state === 'ringing') await transferRingOver(trx, ring.id, statusOfReason(reason), at)
  else await agentFree(trx, tenant, ring, at)
}
