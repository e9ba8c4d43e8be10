import type { EndedReason } from '../../../media/protocol.ts'
import { follow } from '../../calls/steps/follow.ts'
import { appendEvent } from '../../kernel/events/log.ts'
import { showRow } from '../../kernel/show-row.ts'
import { insertNew } from '../../kernel/store/compiled.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import { type CallTransfer, callTransferSchema } from './schema.ts'
import type { CallTransferRow, Plan } from './tables.ts'

export const planOf = (row: CallTransferRow): Plan => JSON.parse(row.plan) as Plan

/** False: another transfer of this call is in progress. */
export const insertTransfer = (trx: Trx, row: CallTransferRow): Promise<boolean> =>
  insertNew(trx, 'call_transfers', row)

/** Searches all tenants, since events of media do not name one. */
export const findTransfer = (db: Db, id: string): Promise<CallTransferRow | undefined> =>
  db.selectFrom('call_transfers').selectAll().where('id', '=', id).executeTakeFirst()

const ofRing = (db: Db, ringId: string): Promise<CallTransferRow | undefined> =>
  db.selectFrom('call_transfers').selectAll().where('ring_id', '=', ringId).executeTakeFirst()

/** The transfer is accepted, and depends on this ring, if any. */
export async function transferBegun(trx: Trx, row: CallTransferRow, ringId: string | null, at: string): Promise<void> {
  await change(trx, row, { status: 'trying', ring_id: ringId })
  await tell(trx, row, { status: 'trying', sip_code: 100 }, at)
}

/** The target rings, or reports progress. */
export async function transferRings(trx: Trx, row: CallTransferRow, sipCode: number, at: string): Promise<void> {
  if (row.status === 'ringing') return
  await change(trx, row, { status: 'ringing' })
  await tell(trx, row, { status: 'ringing', sip_code: sipCode }, at)
  notify(trx, row, sipCode)
}

/** The transfer is over. The outcome goes to the requester by NOTIFY and into an event. */
export async function transferOver(trx: Trx, row: CallTransferRow, sipCode: number, at: string): Promise<void> {
  await forTenant(trx, tenantOf(row)).delete('call_transfers').where('id', '=', row.id).execute()
  const status = sipCode < 300 ? 'completed' : 'failed'
  await tell(trx, row, { status, sip_code: sipCode }, at)
  notify(trx, row, sipCode)
}

/** The party that a transfer rings has begun to ring. */
export async function transferRingRings(trx: Trx, ringId: string, at: string): Promise<void> {
  const row = await ofRing(trx, ringId)
  if (row !== undefined) await transferRings(trx, row, 180, at)
}

export async function transferRingOver(trx: Trx, ringId: string, sipCode: number, at: string): Promise<void> {
  const row = await ofRing(trx, ringId)
  if (row !== undefined) await transferOver(trx, row, sipCode, at)
}

/** The call has ended, and its transfer with it. */
export async function transferLost(trx: Trx, tenant: Tenant, callId: string, at: string): Promise<void> {
  const row = await forTenant(trx, tenant).findBy('call_transfers', { call_id: callId })
  if (row !== undefined) await transferOver(trx, row, 487, at)
}

const change = (trx: Trx, row: CallTransferRow, set: Partial<CallTransferRow>): Promise<unknown> =>
  forTenant(trx, tenantOf(row)).change('call_transfers', row.id, set)

function tell(
  trx: Trx,
  row: CallTransferRow,
  now: Pick<CallTransfer, 'status' | 'sip_code'>,
  at: string,
): Promise<unknown> {
  const object = showRow(callTransferSchema, row, { participant_id: row.leg_id, to: row.to_address, ...now })
  return appendEvent(trx, tenantOf(row), { type: 'call.transfer.updated', at, object, callId: row.call_id })
}

/** Tells the requester by NOTIFY. If media calls the target itself, it also sends the NOTIFY. */
function notify(trx: Trx, row: CallTransferRow, sipCode: number): void {
  if (row.direction === 'out' || planOf(row).kind === 'bridge') return
  const told = { legId: row.leg_id, referId: row.id, sipCode }
  follow(trx, row.call_id, async ({ media }) => void (await media.request('leg.refer_notify', told)))
}

/** The SIP status for a ring that failed. */
export function statusOfReason(reason: EndedReason): number {
  if (reason === 'busy') return 486
  if (reason === 'rejected') return 603
  if (reason === 'not_found') return 404
  if (reason === 'codec_mismatch') return 488
  return reason === 'capacity' || reason === 'trunk_error' ? 503 : 480
}
