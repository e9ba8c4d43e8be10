import { findLeg, mainLeg, setLeg } from '../../calls/legs.ts'
import { isPaused } from '../../calls/pci.ts'
import { isLeadable } from '../../calls/steps/table.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { isRung } from '../ringing/early-media.ts'
import { meet } from '../ringing/holding.ts'
import { agentFree } from '../ringing/purposes.ts'
import { ASIDE, isCaller, mainRing, ringsOf } from '../ringing/rings.ts'
import { answererOf } from '../ringing/sides.ts'
import type { RingRow } from '../tables.ts'

/** The ring of a member who talks with somebody on this leg, or has somebody rung, and may leave it; a SIP status: why not. */
export async function leavable(trx: Trx, tenant: Tenant, userId: string, legId: string): Promise<RingRow | number> {
  const leg = await findLeg(trx, tenant, legId)
  const callId = leg?.call_id ?? ''
  const ring = (await ringsOf(trx, tenant, callId)).find(one => one.leg_id === legId && one.user_id === userId)
  if (ring?.state !== 'talking' || ASIDE.includes(ring.purpose)) return 403
  const other = isCaller(ring) ? await answererOf(trx, tenant, callId) : await mainLeg(trx, tenant, callId)
  const isTalking = other !== undefined && !('problem' in other) && (isCaller(ring) || isLeadable(other.step))
  const isCalling = leg !== undefined && isRung(leg) && (await mainRing(trx, tenant, callId)) !== undefined
  return (isTalking || isCalling) && !(await isPaused(trx, tenant, callId)) ? ring : 603
}

/** The member's leg leads to its call at another node from now on, and the member is free; who was on hold for its phone talks. */
export async function leave(trx: Trx, tenant: Tenant, ring: RingRow, at: string): Promise<void> {
  const scoped = forTenant(trx, tenant)
  const { call_id: callId, leg_id: legId } = ring
  if (isCaller(ring)) {
    await scoped.delete('rings').where('id', '=', ring.id).execute()
    const answered = await mainRing(trx, tenant, callId)
    if (answered?.leg_id != null) await setLeg(trx, tenant, answered.leg_id, { on_hold: 0 })
  } else {
    // Whoever is still dialled meets the one who has placed the call.
    const purpose = ring.purpose === 'placed' ? ring.purpose : 'transfer'
    await scoped.change('rings', ring.id, { user_id: null, open_user: null, queue_id: null, purpose })
    await scoped.change('calls', callId, { target: 'number' })
  }
  const role = isCaller(ring) ? {} : { role: 'party' as const }
  await scoped.change('participants', legId ?? '', { holds: 0, ...role })
  await agentFree(trx, tenant, ring, at)
  await meet(trx, tenant, callId, { at })
}
