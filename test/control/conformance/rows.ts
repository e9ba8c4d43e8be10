import { sql } from 'kysely'
import type { Store } from '../../../control/kernel/store/store.ts'

/** Tables that every request changes: its log, and the rate of its key. */
const OF_REQUESTS = ['request_logs', 'request_budgets']

/** Every row as text, by table, without the tables of `OF_REQUESTS`. */
type Rows = Map<string, string>

/** The rows of all tables, or of these. */
export async function allRows(store: Store, only?: readonly string[]): Promise<Rows> {
  const queries = await queriesOf(store)
  return readRows(store, only === undefined ? [...queries.values()] : only.map(name => queries.get(name) ?? ''))
}

/** Reads rows, and tells which tables have changed. */
interface RowsReader {
  (): Promise<Rows>
  /** Accepts what was written until now. Rows are read again only when needed, not after every successful request. */
  settle(): Promise<void>
  /** Tables that differ from when they were last settled or read. */
  changes(): Promise<string[]>
}

/** Reads rows repeatedly; after the first time only those of tables that the database reports as written. */
export async function rowsReader(store: Store): Promise<RowsReader> {
  const queries = await queriesOf(store)
  const written = await (store.engine === 'sqlite' ? writtenOnSqlite : writtenOnPostgres)(store, [...queries.keys()])
  let latest: Rows = new Map()
  /** Tables written since they were read. */
  const unread = new Set(queries.keys())
  const note = async (): Promise<Set<string>> => {
    const names = await written()
    for (const name of names) unread.add(name)
    return names
  }
  const read = async (names: Iterable<string>): Promise<void> => {
    const old = [...names].map(name => queries.get(name)!)
    if (old.length > 0) latest = new Map([...latest, ...(await readRows(store, old))])
  }
  const rows = async (): Promise<Rows> => {
    await note()
    await read(unread)
    unread.clear()
    return latest
  }
  const settle = async (): Promise<void> => {
    await note()
    // Tables for which writes are not reported.
    await read(written.untold)
    for (const name of written.untold) unread.delete(name)
  }
  const changes = async (): Promise<string[]> => {
    const known = new Set([...queries.keys()].filter(name => !unread.has(name)))
    const names = await note()
    const before = latest
    await read(names)
    for (const name of names) unread.delete(name)
    return [...names].filter(name => !known.has(name) || before.get(name) !== latest.get(name))
  }
  return Object.assign(rows, { settle, changes })
}

const known = new WeakMap<Store, Map<string, string>>()

/** By table, the query that reads its rows. The database makes one text of them, because objects for thousands of rows would take most of a run. */
async function queriesOf(store: Store): Promise<Map<string, string>> {
  const { db, engine } = store
  const queries = known.get(store) ?? new Map<string, string>()
  known.set(store, queries)
  if (queries.size > 0) return queries
  for (const { name, columns } of await db.introspection.getTables()) {
    if (OF_REQUESTS.includes(name)) continue
    const row = columns.map(column => `quote("${column.name}")`).join(` || ',' || `)
    const rows = engine === 'sqlite' ? `group_concat(${row}, char(10))` : `string_agg(one::text, chr(10))`
    queries.set(name, `select '${name}' as name, (select ${rows} from "${name}" as one) as rows`)
  }
  return queries
}

async function readRows({ db }: Store, queries: string[]): Promise<Rows> {
  const text = queries.join(' union all ')
  const { rows } = await sql<{ name: string; rows: string | null }>`${sql.raw(text)}`.execute(db)
  return new Map(rows.map(({ name, rows }) => [name, rows ?? '']))
}

/** Tells which tables were written since the last time. `untold`: tables for which that is not known. */
interface Written {
  (): Promise<Set<string>>
  untold: readonly string[]
}

/** Triggers note writes, and a rollback also removes their notes. */
async function writtenOnSqlite({ db }: Store, names: string[]): Promise<Written> {
  const run = <T>(text: string) => sql<T>`${sql.raw(text)}`.execute(db)
  // Virtual tables of a search, and its shadow tables, cannot have triggers.
  const { rows: searches } = await run<{ name: string }>(
    `select name from sqlite_master where sql like 'create virtual table%'`,
  )
  const isSearch = (name: string): boolean => searches.some(search => name.startsWith(search.name))
  await run('create temp table written (name text primary key, times integer not null)')
  for (const name of names.filter(one => !isSearch(one))) {
    await run(`insert into written values ('${name}', 0)`)
    for (const verb of ['insert', 'update', 'delete']) {
      await run(`create temp trigger "${name}_${verb}" after ${verb} on main."${name}"
        begin update written set times = times + 1 where name = '${name}'; end`)
    }
  }
  const untold = names.filter(isSearch)
  const ask = async (): Promise<Set<string>> => {
    const { rows } = await run<{ name: string }>('update written set times = 0 where times > 0 returning name')
    return new Set([...untold, ...rows.map(({ name }) => name)])
  }
  return Object.assign(ask, { untold })
}

/** A written row has the number of its transaction, which only grows; deleted rows change the count. */
async function writtenOnPostgres({ db }: Store, names: string[]): Promise<Written> {
  const parts = names.map(
    name => `select '${name}' as name, count(*) || ' ' || max(xmin::text::bigint) as state from "${name}"`,
  )
  let before = new Map<string, string | null>()
  const ask = async (): Promise<Set<string>> => {
    const { rows } = await sql<{ name: string; state: string | null }>`${sql.raw(parts.join(' union all '))}`.execute(
      db,
    )
    const states = new Map(rows.map(({ name, state }) => [name, state]))
    const changed = names.filter(name => states.get(name) !== before.get(name))
    before = states
    return new Set(changed)
  }
  return Object.assign(ask, { untold: [] })
}

/** The tables whose rows differ. */
export const changedTables = (before: Rows, after: Rows): string[] =>
  [...after.keys()].filter(table => before.get(table) !== after.get(table))
