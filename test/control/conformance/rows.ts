import { sql } from 'kysely'
import type { Store } from '../../../control/kernel/store/store.ts'

/** What every request leaves, whatever it does: its line in the log, and what is left of its key's rate. */
const OF_REQUESTS = ['request_logs', 'request_budgets']

/** Every row of every table as text, by table; a log of requests tells of refused and repeated ones too, and is left out. */
export async function allRows(store: Store): Promise<Map<string, string>> {
  let query = queries.get(store)
  if (query === undefined) {
    query = await rowsOfAllTables(store)
    queries.set(store, query)
  }
  const { rows } = await sql<{ name: string; rows: string | null }>`${sql.raw(query)}`.execute(store.db)
  return new Map(rows.map(({ name, rows: text }) => [name, text ?? '']))
}

const queries = new WeakMap<Store, string>()

/** One query that the database answers by itself: to make objects of thousands of rows, again and again, takes most of a run. */
async function rowsOfAllTables({ db, engine }: Store): Promise<string> {
  const tables = (await db.introspection.getTables()).filter(({ name }) => !OF_REQUESTS.includes(name))
  const parts = tables.map(({ name, columns }) => {
    const row = columns.map(column => `quote("${column.name}")`).join(` || ',' || `)
    const rows = engine === 'sqlite' ? `group_concat(${row}, char(10))` : `string_agg(one::text, chr(10))`
    return `select '${name}' as name, (select ${rows} from "${name}" as one) as rows`
  })
  return parts.join(' union all ')
}

/** The tables whose rows are not the same. */
export const changedTables = (before: Map<string, string>, after: Map<string, string>): string[] =>
  [...after.keys()].filter(table => before.get(table) !== after.get(table))
