import { findLeg, mainLeg, setLeg } from '../../calls/legs.ts'
import { isPaused } from '../../calls/pci.ts'
import type { ParticipantRow } from '../../calls/tables.ts'
import { conflict, type Problem } from '../../http/errors.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { isCaller, mainRing, ringsOf } from './rings.ts'

/**
 * The two parties of a call, as seen by the member who acts on it. `answerer`: has answered the call or called somebody outside; the
 * other party is the call's own leg. `caller`: has called somebody inside, and is the call's own leg.
 */
export type Side = 'answerer' | 'caller'

const NOBODY = 'Nobody has answered yet.'

/** The answerer's leg, for operations of its caller. */
export async function answererOf(db: Db, tenant: Tenant, callId: string): Promise<ParticipantRow | Problem> {
  const ring = await mainRing(db, tenant, callId)
  const leg = ring?.state === 'talking' && ring.leg_id !== null ? await findLeg(db, tenant, ring.leg_id) : undefined
  return leg?.step === 'bridged' ? leg : conflict('not_connected', NOBODY)
}

/**
 * Swaps the roles of the two. The answerer's leg becomes the call's own, so that it can be led elsewhere, and the calling member's becomes
 * the one that was rung. What was attached to the member's leg, such as a stream, stays with the member.
 */
export async function changePlaces(trx: Trx, tenant: Tenant, callId: string): Promise<Problem | null> {
  const answerer = await answererOf(trx, tenant, callId)
  if ('problem' in answerer) return answerer
  const caller = await mainLeg(trx, tenant, callId)
  const rings = await ringsOf(trx, tenant, callId)
  const placed = rings.find(isCaller)
  const answered = rings.find(ring => ring.open_call !== null)
  if (caller === undefined || placed === undefined || answered === undefined) return conflict('not_connected', NOBODY)
  if (await isPaused(trx, tenant, callId)) {
    return conflict('already_paused', 'A card payment is in progress: its participants cannot be removed.')
  }
  const scoped = forTenant(trx, tenant)
  await scoped.change('rings', answered.id, { purpose: 'placed', open_call: null })
  await scoped.change('rings', placed.id, { purpose: 'direct', open_call: callId })
  await place(trx, tenant, caller.id, placed.id)
  await place(trx, tenant, answerer.id, null)
  await setLeg(trx, tenant, caller.id, { step: 'bridged', role: 'agent' })
  await setLeg(trx, tenant, answerer.id, { step: 'connected', role: 'member' })
  return null
}

export async function place(trx: Trx, tenant: Tenant, legId: string, ringId: string | null): Promise<void> {
  await forTenant(trx, tenant).change('participants', legId, { ring_id: ringId })
}
