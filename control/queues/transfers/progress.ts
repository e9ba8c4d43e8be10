import type { MediaSnapshot } from '../../../media/protocol.ts'
import { hangUpLeg, mainLeg } from '../../calls/legs.ts'
import type { Of } from '../../calls/steps/event-handler.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import type { CallCentreParts } from '../deps.ts'
import { ringsOf } from '../ringing/rings.ts'
import { tellCall } from '../targets.ts'
import { carryOut } from './carry-out.ts'
import { leave } from './leaving.ts'
import { pass } from './out.ts'
import { findTransfer, planOf, transferBegun, transferOver, transferRings } from './records.ts'

/** Progress of a REFER that we sent, or of a call that media places for a far end's REFER. */
export async function onReferProgress(trx: Trx, { body, at }: Of<'leg.refer_progress'>): Promise<void> {
  const row = await findTransfer(trx, body.referId)
  if (row === undefined) return
  const { sipCode, isOver } = body
  // The event may arrive before media's reply to the command.
  if (row.status === 'asked') await transferBegun(trx, row, null, at)
  if (!isOver) {
    if (sipCode >= 180) await transferRings(trx, row, sipCode, at)
    return
  }
  await transferOver(trx, row, sipCode, at)
  if (sipCode >= 300) return
  const tenant = tenantOf(row)
  const leg = await mainLeg(trx, tenant, row.call_id)
  const plan = planOf(row)
  const ring = (await ringsOf(trx, tenant, row.call_id)).find(one => one.leg_id === row.leg_id)
  if (plan.kind === 'bridge' && plan.account !== undefined && ring !== undefined) await leave(trx, tenant, ring, at)
  await tellCall(trx, tenant, row.call_id, { type: 'call.transferred', at })
  // The far end has connected the two without us.
  if (plan.kind === 'pass' && leg !== undefined) await hangUpLeg(trx, tenant, leg.id, 'transfer_completed')
}

/** Another dialog has replaced the far end of a leg (RFC 3891). If another node has, for a member who leaves, the member's other call takes the place. */
export async function onReplaced(trx: Trx, { body, at }: Of<'leg.replaced'>): Promise<void> {
  const { legId, by, connectionId, joins } = body
  const leg = await trx.selectFrom('participants').selectAll().where('id', '=', legId).executeTakeFirst()
  if (leg === undefined) return
  const routed = connectionId === undefined ? {} : { connection_id: connectionId }
  const change = { address: by.user === '' ? by.uri : by.user, ...routed }
  const tenant = tenantOf(leg)
  await forTenant(trx, tenant).change('participants', legId, change)
  if (joins !== true) return
  const ring = (await ringsOf(trx, tenant, leg.call_id)).find(one => one.leg_id === legId)
  if (ring !== undefined) await leave(trx, tenant, ring, at)
  await tellCall(trx, tenant, leg.call_id, { type: 'call.transferred', at })
}

/** After a reconnect to media: continues transfers that were decided, and fails those whose outcome can no longer be learnt. */
export async function resumeTransfers(
  deps: CallCentreParts,
  { refers }: MediaSnapshot,
  media: MediaPort,
): Promise<void> {
  const { store, now } = deps
  const at = now().toISOString()
  const rows = await store.db
    .selectFrom('call_transfers')
    .selectAll()
    .where('node_id', '=', nodeOf(store.db))
    .orderBy('id')
    .execute()
  const known = new Set(rows.map(({ id }) => id))
  const there = new Set(refers.map(({ referId }) => referId))
  for (const { id, status, ring_id, ...row } of rows) {
    const { kind } = planOf({ id, status, ring_id, ...row })
    if (status === 'asked') await carryOut(deps, media, id)
    else if (kind === 'pass') await pass(store, media, id, at)
    else if (kind === 'bridge' && !there.has(id)) await lost(deps, id, at)
    else if (ring_id !== null) {
      const ring = await store.db.selectFrom('rings').select('id').where('id', '=', ring_id).executeTakeFirst()
      if (ring === undefined) await lost(deps, id, at)
    }
  }
  for (const { referId, legId } of refers) {
    if (known.has(referId)) continue
    await media.request('leg.refer_notify', { legId, referId, sipCode: 500 })
  }
}

const lost = ({ store }: CallCentreParts, id: string, at: string): Promise<void> =>
  store.transaction(async trx => {
    const row = await findTransfer(trx, id)
    if (row !== undefined) await transferOver(trx, row, 500, at)
  })
