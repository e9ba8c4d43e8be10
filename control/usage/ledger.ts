import { newId, registerIds } from '../kernel/ids.ts'
import { together, written } from '../kernel/store/after-commit.ts'
import { insertRows } from '../kernel/store/compiled.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import type { Meter } from './tables.ts'

registerIds({ usage_entry: 'use' })

/** The quantities of one source. */
interface Use {
  /** ID of the metered object. */
  sourceId: string
  /** When the object began, ISO 8601 UTC, which decides the day. */
  at: string
  /** Whole numbers; absent ones are not counted. */
  amounts: Partial<Record<Meter, number>>
}

/** Writes usage into the ledger, in the transaction of what it counts. Each meter counts a source once, so a repeated event counts once. */
export async function count(trx: Trx, tenant: Tenant, { sourceId, at, amounts }: Use): Promise<void> {
  const entries = Object.entries(amounts).map(([meter, amount]) => ({
    id: newId('usage_entry'),
    ...ownedBy(tenant),
    meter: meter as Meter,
    quantity: Math.round(amount),
    source_id: sourceId,
    at,
  }))
  await together(trx, 'usage_entries', entries, rows => insertRows(trx, 'usage_entries', rows, ['meter', 'source_id']))
}

/** Records that a source's stored bytes were deleted. Does nothing if there were none. */
export async function release(trx: Trx, tenant: Tenant, sourceId: string, at: string): Promise<void> {
  await written(trx)
  const stored = await forTenant(trx, tenant).findBy('usage_entries', { meter: 'stored_bytes', source_id: sourceId })
  if (stored === undefined) return
  await count(trx, tenant, { sourceId, at, amounts: { released_bytes: Number(stored.quantity) } })
}
