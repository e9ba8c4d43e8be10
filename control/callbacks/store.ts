import type { Context } from '../http/context.ts'
import type { UsesOf } from '../http/references.ts'
import type { EventType } from '../kernel/events/catalog.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { type Place, rowOf } from '../kernel/store/compiled.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ofTenant, type Tenant, tenantOf, valuesOf } from '../kernel/tenancy.ts'
import { closing, overdueBefore, WAITING } from './callback.ts'
import { toCallback } from './schema-callback.ts'
import type { CallbackRow } from './tables.ts'

/** Maximum number of callbacks per transaction of the expiry. */
const EXPIRY_BATCH = 200

/** The callback that this call has already requested, if any. */
export async function callbackOfCall(db: Db, tenant: Tenant, callId: string): Promise<CallbackRow | undefined> {
  const scoped = forTenant(db, tenant)
  const request = await scoped.findBy('callback_requests', { origin_call_id: callId })
  return request === undefined ? undefined : scoped.find('callbacks', request.callback_id)
}

/** The one open callback of a number, if any. */
export function openCallbackTo(db: Db, tenant: Tenant, phone: string): Promise<CallbackRow | undefined> {
  const build = (place: Place) => ofTenant(db, 'callbacks', place).selectAll().where('open_phone', '=', place('phone'))
  return rowOf(db, 'open callback', build, { phone, ...valuesOf(tenant) })
}

/** Open callbacks that a queue, an agent or an assistant is to return. */
export const callbacksUsing: UsesOf = async (db, tenant, id) => {
  const open = forTenant(db, tenant).select('callbacks').select(['id', 'name']).where('open_phone', 'is not', null)
  const rows = await open
    .where(where => where.or([where('queue_id', '=', id), where('agent_id', '=', id), where('assistant_id', '=', id)]))
    .orderBy('id')
    .limit(100)
    .execute()
  return rows.map(row => ({ object: 'callback', id: row.id, name: row.name }))
}

/** The author of a note: the name of the API key, or its ID. */
export async function authorOf(db: Db, context: Context): Promise<string> {
  const key = await forTenant(db, context).find('api_keys', context.apiKeyId)
  return key === undefined || key.name === '' ? context.apiKeyId : key.name
}

/** Stores a change of a callback and its event; returns the row as it is now. */
export async function saveCallback(
  trx: Trx,
  tenant: Tenant,
  row: CallbackRow,
  change: Partial<CallbackRow> & { updated: string },
  type?: EventType,
): Promise<CallbackRow> {
  await forTenant(trx, tenant).change('callbacks', row.id, change)
  const changed = { ...row, ...change }
  const told = { object: toCallback(changed), before: toCallback(row) }
  if (type !== undefined) await appendEvent(trx, tenant, { type, at: change.updated, ...told })
  return changed
}

/** Cancels callbacks to numbers that must not be called any more, unless they are on a call. Numbers in E.164, or a prefix that ends in `*`. */
export async function cancelCallbacksTo(
  trx: Trx,
  tenant: Tenant,
  { phones, at }: { phones: readonly string[]; at: string },
): Promise<void> {
  const open = () => forTenant(trx, tenant).select('callbacks').selectAll().where('status', 'in', WAITING)
  const exact = phones.filter(phone => !phone.endsWith('*'))
  const rows = exact.length === 0 ? [] : await open().where('open_phone', 'in', exact).execute()
  for (const pattern of phones) {
    if (pattern.endsWith('*'))
      rows.push(
        ...(await open()
          .where('open_phone', 'like', `${pattern.slice(0, -1)}%`)
          .execute()),
      )
  }
  for (const row of rows) {
    const change = { status: 'cancelled' as const, ...closing(row), updated: at }
    await saveCallback(trx, tenant, row, change, 'callback.cancelled')
  }
}

/** Expires waiting callbacks that are past their window, or were due too long ago. Returns how many. */
export const expireCallbacks = (store: Store, now: Date): Promise<number> =>
  inBatches(store, now, (trx, at) => lapsed(trx, at, overdueBefore(now)), expire)

/** Writes one event for each callback whose person was not reached by `sla_at`; it is still returned. Returns how many. */
export const tellMissed = (store: Store, now: Date): Promise<number> => inBatches(store, now, late, tellLate)

async function inBatches(
  store: Store,
  now: Date,
  find: (trx: Trx, at: string) => Promise<CallbackRow[]>,
  change: (trx: Trx, row: CallbackRow, at: string) => Promise<void>,
): Promise<number> {
  const at = now.toISOString()
  let count = 0
  for (let batch = EXPIRY_BATCH; batch === EXPIRY_BATCH; count += batch) {
    batch = await store.transaction(async trx => {
      const rows = await find(trx, at)
      for (const row of rows) await change(trx, row, at)
      return rows.length
    })
  }
  return count
}

/** Only one of several control processes sends the event. */
async function tellLate(trx: Trx, row: CallbackRow, at: string): Promise<void> {
  const tenant = tenantOf(row)
  const untold = forTenant(trx, tenant).update('callbacks').set({ sla_missed_at: at }).where('id', '=', row.id)
  const { numUpdatedRows } = await untold.where('sla_missed_at', 'is', null).executeTakeFirst()
  if (numUpdatedRows === 0n) return
  await appendEvent(trx, tenant, { type: 'callback.sla_missed', at, object: toCallback(row) })
}

const late = (db: Db, at: string): Promise<CallbackRow[]> =>
  db
    .selectFrom('callbacks')
    .selectAll()
    .where('status', 'in', [...WAITING, 'dialing'])
    .where('sla_at', '<', at)
    .where('sla_missed_at', 'is', null)
    .orderBy('id')
    .limit(EXPIRY_BATCH)
    .execute()

/** Only one of several control processes closes the callback and sends the event. */
async function expire(trx: Trx, row: CallbackRow, at: string): Promise<void> {
  const tenant = tenantOf(row)
  const change = { status: 'expired' as const, ...closing(row), updated: at }
  const asItWas = forTenant(trx, tenant).update('callbacks').set(change).where('id', '=', row.id)
  const { numUpdatedRows } = await asItWas.where('status', '=', row.status).executeTakeFirst()
  if (numUpdatedRows === 0n) return
  const object = toCallback({ ...row, ...change })
  await appendEvent(trx, tenant, { type: 'callback.expired', at, object, before: toCallback(row) })
}

const lapsed = (db: Db, at: string, dueBefore: string): Promise<CallbackRow[]> =>
  db
    .selectFrom('callbacks')
    .selectAll()
    .where('status', 'in', WAITING)
    .where(where => where.or([where('window_end', '<', at), where('due_at', '<', dueBefore)]))
    .orderBy('id')
    .limit(EXPIRY_BATCH)
    .execute()
