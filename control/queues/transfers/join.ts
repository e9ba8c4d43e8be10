import { findLeg, hangUpLeg, mainLeg, setLeg } from '../../calls/legs.ts'
import { isPaused } from '../../calls/pci.ts'
import type { ParticipantRow } from '../../calls/tables.ts'
import { conflict, type Problem } from '../../http/errors.ts'
import { newId } from '../../kernel/ids.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { agentFree, takeOver } from '../ringing/purposes.ts'
import { finishRing, isCaller, ringsOf } from '../ringing/rings.ts'
import { changePlaces, place } from '../ringing/sides.ts'
import type { RingRow } from '../tables.ts'

const NOBODY = 'One of the two calls has no other party that could be connected.'

/** An attended transfer by a member's phone: the party of one call joins the other call, and the member leaves both. */
export async function joinCalls(
  trx: Trx,
  tenant: Tenant,
  { callId, otherCallId, userId, at }: { callId: string; otherCallId: string; userId: string; at: string },
): Promise<Problem | null> {
  if ((await isPaused(trx, tenant, callId)) || (await isPaused(trx, tenant, otherCallId))) {
    return conflict('already_paused', 'A card payment is in progress: its participants cannot be removed.')
  }
  const given = await otherParty(trx, tenant, otherCallId, userId, at)
  if ('problem' in given) return given
  const ownRings = await ringsOf(trx, tenant, callId)
  if (ownRings.some(ring => isCaller(ring) && ring.user_id === userId)) {
    const refused = await changePlaces(trx, tenant, callId)
    if (refused !== null) return refused
  }
  const caller = await mainLeg(trx, tenant, callId)
  const own = (await ringsOf(trx, tenant, callId)).find(ring => ring.open_call !== null && ring.user_id === userId)
  if (caller === undefined || own === undefined) return conflict('not_connected', NOBODY)
  await finishRing(trx, tenant, own, { reason: 'transfer_completed' })
  await agentFree(trx, tenant, own, at)
  await moveRing(trx, tenant, given, callId)
  await takeOver(trx, tenant, { ...given, call_id: callId }, { at })
  const left = await mainLeg(trx, tenant, otherCallId)
  if (left !== undefined) await hangUpLeg(trx, tenant, left.id, 'transfer_completed')
  return null
}

/** The ring of the party that talks with the member, or is being rung. If the member's leg was the rung one, the two swap roles first. */
async function otherParty(
  trx: Trx,
  tenant: Tenant,
  callId: string,
  userId: string,
  at: string,
): Promise<RingRow | Problem> {
  const rings = await ringsOf(trx, tenant, callId)
  const placed = rings.find(ring => isCaller(ring) && ring.user_id === userId)
  const open = rings.find(ring => ring.open_call !== null)
  if (placed !== undefined) return open ?? conflict('not_connected', NOBODY)
  const main = await mainLeg(trx, tenant, callId)
  const member = open?.leg_id == null ? undefined : await findLeg(trx, tenant, open.leg_id)
  const isTheirs =
    open?.user_id === userId && open.state === 'talking' && (member?.step === 'bridged' || member?.unanswered != null)
  if (main === undefined || open === undefined || !isTheirs) return conflict('not_connected', NOBODY)
  return ringOfMain(trx, tenant, { main, open, member: member!, at })
}

/** Turns the call's own leg into a rung one, and the member's leg into the call's own. Returns the ring of the former. */
async function ringOfMain(
  trx: Trx,
  tenant: Tenant,
  { main, open, member, at }: { main: ParticipantRow; open: RingRow; member: ParticipantRow; at: string },
): Promise<RingRow | Problem> {
  const isDialled = main.step === 'to_dial' || main.step === 'dialing'
  if (!isDialled && main.step !== 'connected') return conflict('not_connected', NOBODY)
  const scoped = forTenant(trx, tenant)
  const ring: RingRow = {
    ...open,
    id: newId('ring'),
    open_call: null,
    user_id: null,
    open_user: null,
    queue_id: null,
    callback_id: null,
    purpose: 'transfer',
    state: isDialled ? 'ringing' : 'talking',
    started_at: at,
    deadline: new Date(Date.parse(at) + RING_MS).toISOString(),
    leg_id: isDialled ? null : main.id,
    mode: null,
    payment: null,
  }
  await trx.insertInto('rings').values(ring).execute()
  await scoped.change('rings', open.id, { purpose: 'placed', open_call: null })
  await place(trx, tenant, member.id, null)
  await place(trx, tenant, main.id, ring.id)
  // A leg that is still unanswered stays so: it will be refused, instead of answered only to be hung up.
  const step = member.unanswered === null ? ('connected' as const) : ('calling' as const)
  await setLeg(trx, tenant, member.id, member.step === step ? { role: 'member' } : { step, role: 'member' })
  await scoped.change('participants', main.id, { role: 'party' })
  return ring
}

/** Maximum ringing time of a party outside in media, plus a margin [ms]. */
const RING_MS = 70_000

/** Moves a ring and its legs to another call; a leg that talks moves into that call's room. */
async function moveRing(trx: Trx, tenant: Tenant, ring: RingRow, callId: string): Promise<void> {
  const scoped = forTenant(trx, tenant)
  await scoped.change('rings', ring.id, { call_id: callId, open_call: callId, purpose: 'transfer' })
  await scoped.update('participants').set({ call_id: callId }).where('ring_id', '=', ring.id).execute()
  if (ring.state === 'talking' && ring.leg_id !== null) {
    await setLeg(trx, tenant, ring.leg_id, { step: 'bridging', on_hold: 0 })
  }
}
