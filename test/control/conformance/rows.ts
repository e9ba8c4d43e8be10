import { sql } from 'kysely'
import type { Store } from '../../../control/kernel/store/store.ts'

/** What every request leaves, whatever it does: its line in the log, and what is left of its key's rate. */
const OF_REQUESTS = ['request_logs', 'request_budgets']

/** Every row of a table as text, by table; a log of requests tells of refused and repeated ones too, and is left out. */
export type Rows = Map<string, string>

/** Those of all tables, or of these. */
export async function allRows(store: Store, only?: readonly string[]): Promise<Rows> {
  const queries = await queriesOf(store)
  return readRows(store, only === undefined ? [...queries.values()] : only.map(name => queries.get(name) ?? ''))
}

/** Every row, as it is now. */
export interface RowsReader {
  (): Promise<Rows>
  /** What was written until now is right: it is read when it is asked for, not after every request that succeeds. */
  settle(): Promise<void>
  /** Tables that are not as they were when they were last settled or read; all that was written in one that has been settled unread. */
  changes(): Promise<string[]>
}

/** Reads the rows again and again: after the first time only those of tables that were written since, as the database itself tells. */
export async function rowsReader(store: Store): Promise<RowsReader> {
  const queries = await queriesOf(store)
  const written = await (store.engine === 'sqlite' ? writtenOnSqlite : writtenOnPostgres)(store, [...queries.keys()])
  let latest: Rows = new Map()
  /** Written since they were read. */
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
    // Nobody tells when these are written.
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

/** By table, what reads its rows: the database makes one text of them, for objects of thousands of rows would take most of a run. */
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

/** Tells which tables were written since it was asked last, and any of these: it is not told of them. */
interface Written {
  (): Promise<Set<string>>
  untold: readonly string[]
}

/** Triggers note it, and what is rolled back takes their notes along. */
async function writtenOnSqlite({ db }: Store, names: string[]): Promise<Written> {
  const run = <T>(text: string) => sql<T>`${sql.raw(text)}`.execute(db)
  // Tables of a search have none, nor have those in which it keeps its words.
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

/** A row that was written has the number of its transaction, which only grows; of one that was deleted the count tells. */
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

/** The tables whose rows are not the same. */
export const changedTables = (before: Rows, after: Rows): string[] =>
  [...after.keys()].filter(table => before.get(table) !== after.get(table))
