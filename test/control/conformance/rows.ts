import { sql } from 'kysely'
import { revisionOf } from '../../../control/kernel/store/shortcut.ts'
import type { Store } from '../../../control/kernel/store/store.ts'
import type { Database } from '../../../control/kernel/store/tables.ts'

/** What every request changes: its line in the log, and the rest of its key's rate. */
const OF_REQUESTS = ['request_logs', 'request_budgets']

/** Every row of every table as text, by table; a log of requests tells of refused and repeated ones too, and is left out. */
export async function allRows(store: Store): Promise<Map<string, string>> {
  const known = queries.get(store) ?? rowsByTable(store)
  queries.set(store, known)
  // One query that the database answers by itself: to make objects of thousands of rows, again and again, takes most of a run.
  const query = [...(await known).values()].join(' union all ')
  return readRows(store, query)
}

const queries = new WeakMap<Store, Promise<Map<string, string>>>()

async function readRows({ db }: Store, query: string): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string; rows: string | null }>`${sql.raw(query)}`.execute(db)
  return new Map(rows.map(({ name, rows: text }) => [name, text ?? '']))
}

/** The query of each table. */
async function rowsByTable({ db, engine }: Store): Promise<Map<string, string>> {
  const tables = (await db.introspection.getTables()).filter(({ name }) => !OF_REQUESTS.includes(name))
  return new Map(
    tables.map(({ name, columns }) => {
      const row = columns.map(column => `quote("${column.name}")`).join(` || ',' || `)
      const rows = engine === 'sqlite' ? `group_concat(${row}, char(10))` : `string_agg(one::text, chr(10))`
      return [name, `select '${name}' as name, (select ${rows} from "${name}" as one) as rows`]
    }),
  )
}

/**
 * All rows of a SQLite store that is asked again and again: a table that nobody has written since is not read anew. Those of
 * triggers are, for of their writes nobody tells. `unseen` reads everything.
 */
export class Rows {
  readonly #store: Store
  readonly #queries: Map<string, string>
  readonly #ofTriggers: string
  readonly #revisions = new Map<string, number>()
  #texts = new Map<string, string>()

  static async of(store: Store): Promise<Rows> {
    const triggers = await sql<{ sql: string }>`select sql from sqlite_master where type = 'trigger'`.execute(store.db)
    return new Rows(store, await rowsByTable(store), triggers.rows.map(({ sql: text }) => text).join('\n'))
  }

  private constructor(store: Store, queries: Map<string, string>, ofTriggers: string) {
    this.#store = store
    this.#queries = queries
    this.#ofTriggers = ofTriggers
  }

  async read(): Promise<Map<string, string>> {
    const texts = new Map<string, string>()
    for (const [name, query] of this.#queries) {
      const revision = this.#revisionOf(name)
      const isKnown = revision !== null && this.#revisions.get(name) === revision
      const text = isKnown ? this.#texts.get(name) : (await readRows(this.#store, query)).get(name)
      texts.set(name, text ?? '')
      if (revision !== null) this.#revisions.set(name, revision)
    }
    this.#texts = texts
    return texts
  }

  /** The tables whose rows have changed and were not read anew. */
  async unseen(): Promise<string[]> {
    const known = await this.read()
    return changedTables(known, await allRows(this.#store))
  }

  #revisionOf(name: string): number | null {
    const { db } = this.#store
    // A full text index has tables of its own, named by it.
    const isTold = !this.#ofTriggers.includes(name) && !/_(data|idx|content|docsize|config)$/.test(name)
    return isTold ? revisionOf(db, [name as keyof Database]) : null
  }
}

/** The tables whose rows are not the same. */
export const changedTables = (before: Map<string, string>, after: Map<string, string>): string[] =>
  [...after.keys()].filter(table => before.get(table) !== after.get(table))
