import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Store, Trx } from '../store/store.ts'
import type { Database } from '../store/tables.ts'
import { forTenant, type Tenant } from '../tenancy.ts'
import type { JobPayloads } from './kinds.ts'
import type { JobHandler } from './runner.ts'

declare module './kinds.ts' {
  interface JobPayloads {
    /** What belonged to a deleted object: rows of a table that has an index by this column, and the events about them. */
    'rows.forget': { tenant: Tenant; table: string; column: string; id: string }
  }
}

/** A job that deletes `limit` rows per transaction, since calls wait for it, until there are fewer. */
export const inPieces = <P>(store: Store, limit: number, remove: (trx: Trx, of: P) => Promise<number>) =>
  ({
    async run(of, { signal, finish }) {
      for (let removed = limit; removed === limit && !signal.aborted; await nextTurn()) {
        removed = await store.transaction(async trx => {
          const count = await remove(trx, of)
          if (count < limit) await finish(trx)
          return count
        })
      }
    },
  }) satisfies JobHandler<P>

export const forgetRows = (store: Store, limit = 100) =>
  inPieces<JobPayloads['rows.forget']>(store, limit, async (trx, { tenant, table, column, id }) => {
    const scoped = forTenant(trx, tenant)
    // Kysely cannot type names that are read from a row.
    const whose = table as 'campaign_contacts'
    const rows = scoped.select(whose).where(column as 'campaign_id', '=', id)
    const ids = (await rows.select('id').limit(limit).execute()).map(row => row.id)
    if (ids.length === 0) return 0
    await scoped.delete('events').where('object_id', 'in', ids).execute()
    await scoped.delete(whose).where('id', 'in', ids).execute()
    return ids.length
  })

/** Deletes the rows of which this column, which has an index, is not after `until`: `limit` per transaction, in the same way. */
export async function forgetOld<T extends keyof Database>(
  store: Store,
  table: T,
  column: keyof Database[T] & string,
  until: string,
  limit = 100,
): Promise<void> {
  const [rows, at] = [sql.table(table), sql.ref(column)]
  const oldest = sql`select ${at} as at from ${rows} where ${at} <= ${until} order by ${at} limit ${sql.lit(limit)}`
  for (let deleted = limit; deleted >= limit; await nextTurn()) {
    const piece = sql`delete from ${rows} where ${at} <= (select max(at) from (${oldest}) as oldest)`
    deleted = await store.transaction(async trx => Number((await piece.execute(trx)).numAffectedRows ?? 0))
  }
}
