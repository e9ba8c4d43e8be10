import type BetterSqlite3 from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import type { Revisions } from './revisions.ts'
import { RowsByKey } from './rows-by-key.ts'

/** A query whose answer depends only on its tables and parameters. One that compares with a time occurs once per time. */
const PLAIN = /^select (?!.*(?: [<>]=? |\w\(| match ))/s
const TABLES = /\b(?:from|join) "(\w+)"/g
/** Reads something other than a table, or more tables than these words name. */
const OTHERS = /\b(?:from|join) (?:(?!")|"\w+"(?: as "\w+")?,)/

/** Maximum number of cached answers, and maximum size of one: lists and texts are read only once. */
const MAX_KEPT = 1000
const MAX_ROWS = 4
const MAX_CHARACTERS = 8192

type Row = Record<string, unknown>

interface Answer {
  revision: number
  rows: readonly Row[]
}

/**
 * Caches answers of queries until their tables are written, and rows by key until those rows are written: one event of a call reads the
 * same call, leg and connection a dozen times. Answers are copies, so their reader may change them.
 */
export class RememberedRows {
  readonly #revisions: Revisions
  readonly #rows: RowsByKey
  readonly #kept = new LRUCache<string, Answer>({ max: MAX_KEPT })
  #statements = 0
  /** Queries answered without SQLite. */
  hits = 0

  constructor(sqlite: BetterSqlite3.Database, revisions: Revisions) {
    this.#revisions = revisions
    this.#rows = new RowsByKey(sqlite, revisions)
  }

  /** Tables may have new columns. */
  forget(): void {
    this.#rows.forget()
    this.#kept.clear()
  }

  /** To be called after every writing statement, with its number of changed rows; null: unknown. */
  writing(sql: string): (parameters: readonly unknown[], changes: number | null) => void {
    return this.#rows.writing(sql)
  }

  /** A row by its key, without a query; null: there is none; undefined: not cached. */
  rowWith(table: string, values: Row): Row | null | undefined {
    const row = this.#rows.rowWith(table, values)
    if (row !== undefined) this.hits++
    return row
  }

  /** Wraps a query with the cache, if it can be cached. */
  remembering(sql: string, all: (parameters: readonly unknown[]) => unknown[]): typeof all {
    const tables = PLAIN.test(sql) && !OTHERS.test(sql) ? [...sql.matchAll(TABLES)].map(([, table]) => table!) : []
    if (tables.length === 0 || tables.some(table => this.#revisions.isOfTriggers(table))) return all
    const byTables = this.#byTables(tables, all)
    const reader = this.#rows.reading(sql)
    if (reader === null) return byTables
    return parameters => {
      const known = reader.known(parameters)
      if (known !== null) {
        this.hits++
        return known
      }
      const rows = byTables(parameters)
      reader.learn(rows)
      return rows
    }
  }

  #byTables(tables: string[], all: (parameters: readonly unknown[]) => unknown[]): typeof all {
    const number = ++this.#statements
    return parameters => {
      if (!parameters.every(isPlain)) return all(parameters)
      const revision = this.#revisions.of(tables)
      const key = `${number} ${JSON.stringify(parameters)}`
      const known = this.#kept.get(key)
      if (known?.revision === revision) {
        this.hits++
        return known.rows.map(copyOf)
      }
      const rows = all(parameters) as Row[]
      if (isSmall(rows)) this.#kept.set(key, { revision, rows: rows.map(copyOf) })
      else this.#kept.delete(key)
      return rows
    }
  }
}

const isPlain = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number' || value === null

const copyOf = (row: Row): Row => ({ ...row })

function isSmall(rows: readonly Row[]): boolean {
  if (rows.length > MAX_ROWS) return false
  let characters = 0
  for (const row of rows) {
    for (const value of Object.values(row)) {
      if (typeof value === 'string') characters += value.length
      // Byte arrays are mutable.
      else if (typeof value === 'object' && value !== null) return false
    }
  }
  return characters <= MAX_CHARACTERS
}
