import { sql } from 'kysely'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { METERS, type Meter } from './tables.ts'

/** Usage of a day or month, by when it began. */
export type Amounts = Record<Meter, number> & {
  /** Bytes stored at its end. */
  kept_bytes: number
}

interface Range {
  /** ISO 8601 UTC; `to` is exclusive. */
  from: string
  to: string
  granularity: 'day' | 'month'
}

const NONE = Object.fromEntries(Object.keys(METERS).map(meter => [meter, 0])) as Record<Meter, number>

/** A tenant's usage of each UTC day (`2026-11-21`) or month (`2026-11`), from the ledger. */
export async function measureUsage(db: Db, tenant: Tenant, range: Range): Promise<(period: string) => Amounts> {
  const { from, to, granularity } = range
  const [rows, before] = await Promise.all([
    forTenant(db, tenant)
      .select('usage_entries')
      .select(['meter', sql<string>`substr(at, 1, ${sql.lit(granularity === 'day' ? 10 : 7)})`.as('period')])
      .select(({ fn }) => fn.sum<number | string>('quantity').as('quantity'))
      .where('at', '>=', from)
      .where('at', '<', to)
      .groupBy(['meter', 'period'])
      .orderBy('period')
      .execute(),
    keptBefore(db, tenant, from),
  ])
  const used = new Map<string, Amounts>()
  for (const { meter, period, quantity } of rows) {
    const amounts = used.get(period) ?? { ...NONE, kept_bytes: 0 }
    // Sums of PostgreSQL arrive as text.
    amounts[meter] = Number(quantity)
    used.set(period, amounts)
  }
  let kept = before
  const ends: [string, number][] = []
  for (const [period, amounts] of used) {
    kept += amounts.stored_bytes - amounts.released_bytes
    amounts.kept_bytes = kept
    ends.push([period, kept])
  }
  return period => used.get(period) ?? { ...NONE, kept_bytes: ends.findLast(([end]) => end < period)?.[1] ?? before }
}

/** Bytes stored and not yet deleted at a time. */
async function keptBefore(db: Db, tenant: Tenant, at: string): Promise<number> {
  const rows = await forTenant(db, tenant)
    .select('usage_entries')
    .select('meter')
    .select(({ fn }) => fn.sum<number | string>('quantity').as('quantity'))
    .where('meter', 'in', ['stored_bytes', 'released_bytes'])
    .where('at', '<', at)
    .groupBy('meter')
    .execute()
  return rows.reduce((sum, row) => sum + Number(row.quantity) * (row.meter === 'stored_bytes' ? 1 : -1), 0)
}
