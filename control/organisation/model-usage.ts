import { sql } from 'kysely'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { Purpose } from '../models/tables.ts'

interface Paid {
  input_tokens: number
  output_tokens: number
  /** Null: the price of some of it is unknown. */
  cost: number | null
}

interface ModelUse extends Paid {
  purposes: (Paid & { purpose: Purpose; model: string })[]
}

const NOTHING: Paid = { input_tokens: 0, output_tokens: 0, cost: 0 }
const MICROS = 1_000_000

/** Paid usage of models, by UTC day or month; a partial day counts in full. */
export async function modelUsage(
  db: Db,
  tenant: Tenant,
  { from, to, granularity }: { from: string; to: string; granularity: 'day' | 'month' },
): Promise<(period: string) => ModelUse> {
  const rows = await forTenant(db, tenant)
    .select('model_usage')
    .select(['purpose', 'model', 'is_priced'])
    .select(sql<string>`substr(day, 1, ${sql.lit(granularity === 'day' ? 10 : 7)})`.as('period'))
    .select(({ fn }) => [
      fn.sum<number | string>('input_tokens').as('input'),
      fn.sum<number | string>('output_tokens').as('output'),
      fn.sum<number | string>('cost_micros').as('micros'),
    ])
    .where('day', '>=', from.slice(0, 10))
    .where('day', '<=', new Date(Date.parse(to) - 1).toISOString().slice(0, 10))
    .groupBy(['period', 'purpose', 'model', 'is_priced'])
    .orderBy('purpose')
    .orderBy('model')
    .execute()
  return period => {
    const use: ModelUse = { ...NOTHING, purposes: [] }
    for (const row of rows.filter(one => one.period === period)) {
      const { purpose, model } = row
      const cost = row.is_priced === 1 ? Number(row.micros) / MICROS : null
      const paid = { input_tokens: Number(row.input), output_tokens: Number(row.output), cost }
      const same = use.purposes.find(one => one.purpose === purpose && one.model === model)
      if (same === undefined) use.purposes.push({ purpose, model, ...paid })
      else Object.assign(same, sum(same, paid))
      Object.assign(use, sum(use, paid))
    }
    return use
  }
}

const sum = (one: Paid, other: Paid): Paid => ({
  input_tokens: one.input_tokens + other.input_tokens,
  output_tokens: one.output_tokens + other.output_tokens,
  cost: one.cost === null || other.cost === null ? null : Math.round((one.cost + other.cost) * MICROS) / MICROS,
})
