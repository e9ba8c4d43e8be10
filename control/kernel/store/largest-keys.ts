import type BetterSqlite3 from 'better-sqlite3'
import type { Revisions } from './revisions.ts'

/** An ID of ours: those of one kind sort by the time at which they were made. */
const ID = /^[a-z]+_[0-9a-z]{26}$/
/** After the characters of IDs in SQLite's order. */
const END = '~'
/** Columns whose largest value says nothing about a new call: it is that of an organisation. */
const OWNER = 'organisation_id'
/** What was read in vain is not read again for so many questions at most: the table is written all the time. */
const MOST_SKIPPED = 64

interface Largest {
  revision: number
  /** Null: there is none of this kind. */
  value: string | null
  /** Questions that it has answered. */
  hits: number
  /** Questions that go to the database before it is read again, and how many the next time. */
  skips: number
  nextSkips: number
}

/**
 * Tells without a query that a table has nothing of an ID: the largest ID of its kind in the column is smaller. Each event of a call asks a
 * dozen tables for what the call might have (recordings, streams, rings, a program), and a new call is in none of them.
 */
export class LargestKeys {
  readonly #sqlite: BetterSqlite3.Database
  readonly #revisions: Revisions
  /** By table and column; null: to look for its largest value, rows would have to be read. */
  readonly #reads = new Map<string, BetterSqlite3.Statement<[string, string], string | null> | null>()
  /** By table, column and kind of ID. */
  readonly #known = new Map<string, Largest>()

  constructor(sqlite: BetterSqlite3.Database, revisions: Revisions) {
    this.#sqlite = sqlite
    this.#revisions = revisions
  }

  /** Tables may have changed. */
  forget(): void {
    this.#reads.clear()
    this.#known.clear()
  }

  /** Whether certainly no row of this table has the value in this column. */
  isAbsent(table: string, column: string, value: unknown): boolean {
    if (column === OWNER || typeof value !== 'string' || !ID.test(value)) return false
    const read = this.#readOf(table, column)
    if (read === null) return false
    const kind = value.slice(0, value.indexOf('_') + 1)
    const largest = this.#largest(`${table} ${column} ${kind}`, table, kind, read)
    const isAbsent = largest !== null && (largest.value === null || value > largest.value)
    if (isAbsent) largest.hits++
    return isAbsent
  }

  /** Null: it is not known, and may not be worth to be read. */
  #largest(
    name: string,
    table: string,
    kind: string,
    read: BetterSqlite3.Statement<[string, string], string | null>,
  ): Largest | null {
    const revision = this.#revisions.of([table])
    const known = this.#known.get(name)
    if (known?.revision === revision) return known
    if (known !== undefined && known.hits === 0) {
      if (known.skips > 0) {
        known.skips--
        return null
      }
      known.nextSkips = Math.min(MOST_SKIPPED, 2 * known.nextSkips)
    }
    const nextSkips = known === undefined || known.hits > 0 ? 1 : known.nextSkips
    const value = read.get(kind, kind + END) ?? null
    const largest = { revision, value, hits: 0, skips: nextSkips, nextSkips }
    this.#known.set(name, largest)
    return largest
  }

  #readOf(table: string, column: string): BetterSqlite3.Statement<[string, string], string | null> | null {
    const name = `${table} ${column}`
    const known = this.#reads.get(name)
    if (known !== undefined) return known
    const read = this.#isIndexedText(table, column)
      ? this.#sqlite
          .prepare<[string, string], string | null>(`select max("${column}") from "${table}" where ${range(column)}`)
          .pluck()
      : null
    this.#reads.set(name, read)
    return read
  }

  /** Whether it is compared byte by byte, and an index leads to its largest value. */
  #isIndexedText(table: string, column: string): boolean {
    // Writes of triggers are not reported.
    if (this.#revisions.isOfTriggers(table)) return false
    const columns = this.#sqlite
      .prepare<[string], { name: string; type: string; hidden: number }>(
        'select name, type, hidden from pragma_table_xinfo(?)',
      )
      .all(table)
    const isText = columns.some(one => one.name === column && one.hidden === 0 && /char|clob|text/i.test(one.type))
    const text = this.#sqlite
      .prepare<[string], string>('select sql from sqlite_master where name = ?')
      .pluck()
      .get(table)
    if (!isText || /\bcollate\b/i.test(text ?? '')) return false
    const plan = this.#sqlite
      .prepare<[string, string], { detail: string }>(
        `explain query plan select max("${column}") from "${table}" where ${range(column)}`,
      )
      .all('', END)
    return plan.every(({ detail }) => /^SEARCH .* USING .*(?:INDEX|PRIMARY KEY)/.test(detail))
  }
}

const range = (column: string): string => `"${column}" >= ? and "${column}" < ?`
