import { cancelCallbacksTo } from '../callbacks/store.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { newId } from '../kernel/ids.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import type { DoNotCallRow, DoNotCallSource } from '../trunks/tables.ts'
import { toDoNotCallNumber } from './schema.ts'

/** Numbers removed per transaction, and per page of an export. */
const BATCH = 500

export interface Listing {
  /** E.164, or a prefix and `*`. */
  phone: string
  reason: string
  expires_at: string | null
}

/** Who listed them, and when. */
interface Lister {
  at: string
  source: DoNotCallSource
  callId?: string
  importId?: string
}

/**
 * Adds numbers that are not on the list yet, and cancels callbacks to them. Returns the new rows. A number that is listed keeps its row,
 * with the later expiry of both.
 */
export async function putOnList(
  trx: Trx,
  tenant: Tenant,
  listings: readonly Listing[],
  { at, source, callId, importId }: Lister,
): Promise<DoNotCallRow[]> {
  const row = { source, call_id: callId ?? null, import_id: importId ?? null, created: at }
  const mine = ownedBy(tenant)
  const values = listings.map(listing => ({ ...mine, ...row, ...listing, id: newId('do_not_call_number') }))
  if (values.length === 0) return []
  const rows = await trx
    .insertInto('do_not_call')
    .values(values)
    .onConflict(conflict => conflict.columns(['organisation_id', 'livemode', 'phone']).doNothing())
    .returningAll()
    .execute()
  const fresh = new Set(rows.map(({ phone }) => phone))
  for (const listing of listings) if (!fresh.has(listing.phone)) await keepLonger(trx, tenant, listing)
  const phones = [...fresh]
  await cancelCallbacksTo(trx, tenant, { phones, at })
  return rows
}

/** Extends the expiry of a listed number, and never shortens it. */
async function keepLonger(trx: Trx, tenant: Tenant, { phone, expires_at }: Listing): Promise<void> {
  const ending = forTenant(trx, tenant)
    .update('do_not_call')
    .set({ expires_at })
    .where('phone', '=', phone)
    .where('expires_at', 'is not', null)
  await (expires_at === null ? ending : ending.where('expires_at', '<', expires_at)).execute()
}

/** Puts one number on the list, with an event if it is new. */
export async function listNumber(trx: Trx, tenant: Tenant, listing: Listing, lister: Lister): Promise<DoNotCallRow> {
  const [fresh] = await putOnList(trx, tenant, [listing], lister)
  const row = fresh ?? (await forTenant(trx, tenant).findBy('do_not_call', { phone: listing.phone }))
  if (row === undefined) throw new Error('a number that was listed is gone within its transaction')
  if (fresh === undefined) return row
  await appendEvent(trx, tenant, {
    type: 'do_not_call_number.created',
    at: lister.at,
    object: toDoNotCallNumber(row),
    ...(lister.callId === undefined ? {} : { callId: lister.callId }),
  })
  return row
}

/** Removes expired entries; returns how many. */
export async function sweepListed(store: Store, now: Date): Promise<number> {
  const at = now.toISOString()
  let count = 0
  for (let batch = BATCH; batch === BATCH; count += batch) {
    batch = await store.transaction(async trx => {
      const over = trx.selectFrom('do_not_call').selectAll().where('expires_at', '<=', at)
      const rows = await over.orderBy('expires_at').limit(BATCH).execute()
      for (const row of rows) {
        const tenant = tenantOf(row)
        await forTenant(trx, tenant).delete('do_not_call').where('id', '=', row.id).execute()
        await appendEvent(trx, tenant, { type: 'do_not_call_number.deleted', at, object: toDoNotCallNumber(row) })
      }
      return rows.length
    })
  }
  return count
}

/** The whole list, oldest first, read page by page. */
export async function* wholeList(db: Db, tenant: Tenant): AsyncGenerator<DoNotCallRow[]> {
  for (let after = ''; ; ) {
    const rows = await forTenant(db, tenant)
      .select('do_not_call')
      .selectAll()
      .where('id', '>', after)
      .orderBy('id')
      .limit(BATCH)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.id
  }
}
