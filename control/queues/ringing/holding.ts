import { findLeg, mainLeg, setLeg } from '../../calls/legs.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { tellCall } from '../targets.ts'
import { findCall } from '../waiting-calls.ts'
import { isCaller, ringsOf } from './rings.ts'

/** When, and by whose request. */
export type By = Omit<Parameters<typeof tellCall>[3], 'type'>

/** The two parties of a call talk from now on, or again. The call's own leg is on hold only if the other party's phone holds. */
export async function meet(trx: Trx, tenant: Tenant, callId: string, by: By): Promise<void> {
  const main = await mainLeg(trx, tenant, callId)
  const rings = await ringsOf(trx, tenant, callId)
  const legId = rings.find(ring => ring.open_call !== null)?.leg_id ?? null
  const other = legId === null ? undefined : await findLeg(trx, tenant, legId)
  const onHold = other?.holds ?? 0
  if (main !== undefined && (main.on_hold ?? 0) !== onHold) await setLeg(trx, tenant, main.id, { on_hold: onHold })
  if (main?.holds === 1 && other !== undefined && rings.some(isCaller)) {
    await setLeg(trx, tenant, other.id, { on_hold: 1 })
  }
  await tellHold(trx, tenant, callId, by)
}

/**
 * A call is held as long as we have a party on hold, or the far end of its own leg holds. If the phone of a calling member holds, the party
 * that has answered is on hold, and only that counts, so that the API can end it.
 */
export async function tellHold(trx: Trx, tenant: Tenant, callId: string, by: By): Promise<void> {
  const call = await findCall(trx, tenant, callId)
  if (call?.status !== 'in_progress' && call?.status !== 'held') return
  const scoped = forTenant(trx, tenant)
  const legs = scoped.select('participants').selectAll().where('call_id', '=', callId)
  const rings = await ringsOf(trx, tenant, callId)
  const isAnswered = rings.some(isCaller) && rings.some(ring => ring.open_call !== null && ring.state === 'talking')
  const isHeld = (await legs.where('step', 'not in', ['ended', 'hanging_up']).execute()).some(
    ({ on_hold, holds, ring_id, session_call_id }) =>
      // A participant that a room has on hold is no held call.
      (on_hold === 1 && session_call_id === null) || (holds === 1 && ring_id === null && !isAnswered),
  )
  const status = isHeld ? 'held' : 'in_progress'
  if (status === call.status) return
  await scoped.change('calls', callId, { status })
  await tellCall(trx, tenant, callId, { type: isHeld ? 'call.held' : 'call.resumed', ...by })
}
