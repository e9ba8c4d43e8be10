import { isFailure, isUndecided } from '../../../media/protocol.ts'
import { findLeg } from '../../calls/legs.ts'
import { decideAnew } from '../../calls/steps/follow.ts'
import { toneOf } from '../../calls/tones.ts'
import type { Problem } from '../../http/errors.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { targetOver } from '../../trunks/outbound.ts'
import { type Handling, transferBlind, transferReferred } from '../call-handling.ts'
import type { CallCentreParts } from '../deps.ts'
import { isCaller, ringsOf } from '../ringing/rings.ts'
import { joinCalls } from './join.ts'
import { pass } from './out.ts'
import { findTransfer, planOf, transferBegun, transferOver } from './records.ts'
import type { CallTransferRow, Plan } from './tables.ts'

/** How long the target of a trunk's REFER is rung [s]. */
const TIMEOUT_S = 60

/** Carries out an accepted REFER. Repeating it after the death of a process does nothing twice. */
export async function carryOut(deps: CallCentreParts, media: MediaPort, id: string): Promise<void> {
  const row = await findTransfer(deps.store.db, id)
  if (row?.status !== 'asked') return
  const plan = planOf(row)
  const reply = plan.kind === 'bridge' ? await bridge(deps, media, row, plan) : await accept(media, row)
  if (isUndecided(reply)) return
  await deps.store.transaction(async trx => {
    const still = await findTransfer(trx, id)
    if (still?.status !== 'asked') return
    decideAnew(trx)
    const at = deps.now().toISOString()
    // Too late: media has already answered it, or its sender has left.
    if (isFailure(reply)) await forTenant(trx, tenantOf(row)).delete('call_transfers').where('id', '=', id).execute()
    else await begin(deps, trx, row, plan, at)
  })
  if (plan.kind === 'pass' && !isFailure(reply)) await pass(deps.store, media, id, deps.now().toISOString())
}

const accept = (media: MediaPort, { leg_id: legId, id: referId }: CallTransferRow): Promise<object> =>
  media.request('leg.refer_answer', { legId, referId, sipCode: 202 })

async function bridge(
  { store, vault }: CallCentreParts,
  media: MediaPort,
  row: CallTransferRow,
  { to, replaces, account }: Extract<Plan, { kind: 'bridge' }>,
): Promise<object> {
  const { leg_id: legId, id: referId } = row
  const scoped = forTenant(store.db, tenantOf(row))
  const call = await scoped.find('calls', row.call_id)
  const asked = { legId, referId, timeoutS: TIMEOUT_S, ringback: await toneOf(store.db, 'ringback', call) }
  if (account !== undefined) return media.request('leg.refer_join', { ...asked, account })
  const leg = await scoped.find('participants', legId)
  const connection = await scoped.find('connections', leg?.connection_id ?? '')
  if (connection === undefined) return media.request('leg.refer_answer', { legId, referId, sipCode: 603 })
  const other = call === undefined ? undefined : call.direction === 'inbound' ? call.to_address : call.from_address
  const from = other?.startsWith('+') ? other : undefined
  const target = { ...targetOver(connection, to, from, vault), ...(replaces === null ? {} : { replaces }) }
  return media.request('leg.refer_bridge', { ...asked, target })
}

async function begin(deps: CallCentreParts, trx: Trx, row: CallTransferRow, plan: Plan, at: string): Promise<void> {
  const tenant = tenantOf(row)
  const leg = await findLeg(trx, tenant, row.leg_id)
  const handling: Handling = { deps, trx, tenant, callId: row.call_id, at }
  const isOfCaller = leg?.ring_id === null && (await ringsOf(trx, tenant, row.call_id)).some(isCaller)
  const side = isOfCaller ? 'caller' : 'answerer'
  if (plan.kind === 'bridge' || plan.kind === 'pass') return transferBegun(trx, row, null, at)
  if (plan.kind === 'ring') {
    const ring = await transferReferred(handling, plan.target, side, plan.replaces)
    return 'problem' in ring ? transferOver(trx, row, statusOf(ring), at) : transferBegun(trx, row, ring.id, at)
  }
  await transferBegun(trx, row, null, at)
  const refused =
    plan.kind === 'lead' ? await transferBlind(handling, plan.target, side) : await join(handling, row, plan)
  await transferOver(trx, row, refused === null ? 200 : statusOf(refused), at)
}

async function join(
  { trx, tenant, callId, at }: Handling,
  row: CallTransferRow,
  { otherLegId }: Extract<Plan, { kind: 'join' }>,
): Promise<Problem | null> {
  const other = await findLeg(trx, tenant, otherLegId)
  const rings = await ringsOf(trx, tenant, callId)
  const userId = rings.find(ring => ring.leg_id === row.leg_id)?.user_id ?? ''
  return joinCalls(trx, tenant, { callId, otherCallId: other?.call_id ?? '', userId, at })
}

/** Our refusal as the SIP status that the target would have answered. */
function statusOf({ details }: Problem): number {
  const reason = details?.reason
  if (reason === 'agent_busy') return 486
  if (reason === 'agent_unreachable') return 480
  return reason === undefined ? 403 : 603
}
