import type BetterSqlite3 from 'better-sqlite3'
import type { Revisions } from './revisions.ts'

/** One of our IDs, and its prefix, the kind. IDs of one kind sort by the time at which they were made. */
const ID = /^([a-z]+_)[0-9a-z]{26}$/
/** Sorts after all characters of IDs. */
const END = '~'
/** Not checked: organisations are older than their rows, so that the largest value would rule out nothing. */
const OWNER = 'organisation_id'
/** Where a table is written between any two questions and the largest value rules out nothing, it is read again only at every 16th question. */
const ONE_OF = 16
/** Whether the column is text that is compared byte by byte. */
const IS_TEXT = `select 1 from pragma_table_xinfo(?) where name = ? and type = 'text' collate nocase and hidden = 0
  and (select sql from sqlite_master where name = ?) not like '%collate%'`

/** `value`: the largest ID of a kind in a column; null: none. `isOfUse`: it has ruled something out since it was read. */
interface Largest {
  revision: number
  value: string | null
  isOfUse: boolean
  questions: number
}

type Read = BetterSqlite3.Statement<[string, string], string | null>

/**
 * Tells without a query that no row of a table has an ID in a column, because the largest ID of its kind there is smaller. Each event of a call
 * asks a dozen tables for what the call might have (recordings, streams, rings, a program), and a new call is in none of them.
 */
export class LargestKeys {
  readonly #sqlite: BetterSqlite3.Database
  readonly #revisions: Revisions
  /** By table and column; null: not possible here, or no index finds the largest value. */
  readonly #reads = new Map<string, Read | null>()
  /** By table, column and kind of ID. */
  readonly #known = new Map<string, Largest>()

  constructor(sqlite: BetterSqlite3.Database, revisions: Revisions) {
    this.#sqlite = sqlite
    this.#revisions = revisions
  }

  /** To be called when the schema may have changed. */
  forget(): void {
    this.#reads.clear()
    this.#known.clear()
  }

  /** True: no row of this table has the value in this column. False: there may be one. */
  isAbsent(table: string, column: string, value: unknown): boolean {
    if (typeof value !== 'string' || column === OWNER) return false
    const kind = ID.exec(value)?.[1]
    const read = kind === undefined ? null : this.#readOf(table, column)
    if (kind === undefined || read === null) return false
    const name = `${table} ${column} ${kind}`
    const revision = this.#revisions.of([table])
    let known = this.#known.get(name)
    if (known?.revision !== revision) {
      if (known?.isOfUse === false && known.questions++ % ONE_OF !== 0) return false
      known = { revision, value: read.get(kind, kind + END) ?? null, isOfUse: false, questions: 1 }
      this.#known.set(name, known)
    }
    if (known.value !== null && value <= known.value) return false
    known.isOfUse = true
    return true
  }

  #readOf(table: string, column: string): Read | null {
    const name = `${table} ${column}`
    const known = this.#reads.get(name)
    if (known !== undefined) return known
    const read = this.#prepare(table, column)
    this.#reads.set(name, read)
    return read
  }

  #prepare(table: string, column: string): Read | null {
    const sqlite = this.#sqlite
    // What triggers write is not reported to `Revisions`.
    if (this.#revisions.isOfTriggers(table) || !sqlite.prepare(IS_TEXT).get(table, column, table)) return null
    const query = `select max("${column}") from "${table}" where "${column}" >= ? and "${column}" < ?`
    const plan = sqlite.prepare<[string, string], { detail: string }>(`explain query plan ${query}`).all('', END)
    const isIndexed = plan.every(({ detail }) => /^SEARCH .* USING .*(?:INDEX|PRIMARY KEY)/.test(detail))
    return isIndexed ? sqlite.prepare<[string, string], string | null>(query).pluck() : null
  }
}
