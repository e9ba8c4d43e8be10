import type BetterSqlite3 from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import type { Revisions } from './revisions.ts'
import { RowsByKey } from './rows-by-key.ts'

/** A query whose answer depends on its tables and parameters alone. What compares with a time is asked once with each. */
const PLAIN = /^select (?!.*(?: [<>]=? |\w\(| match ))/s
const TABLES = /\b(?:from|join) "(\w+)"/g
/** Asks what is no table, or more of them than it says by these words. */
const OTHERS = /\b(?:from|join) (?:(?!")|"\w+"(?: as "\w+")?,)/

/** Answers that are kept, and what one may hold: lists and texts are read once. */
const MAX_KEPT = 1000
const MAX_ROWS = 4
const MAX_CHARACTERS = 8192

type Row = Record<string, unknown>

interface Answer {
  revision: number
  rows: readonly Row[]
}

/**
 * What queries have answered, for as long as nothing was written to their tables, and rows by their keys, whatever is written to others: an
 * event of a call asks for the same call, leg and connection a dozen times. Answers are copies: their reader may change them.
 */
export class RememberedRows {
  readonly #revisions: Revisions
  readonly #rows: RowsByKey
  readonly #kept = new LRUCache<string, Answer>({ max: MAX_KEPT })
  #statements = 0
  /** Queries that were not sent to SQLite. */
  hits = 0

  constructor(sqlite: BetterSqlite3.Database, revisions: Revisions) {
    this.#revisions = revisions
    this.#rows = new RowsByKey(sqlite, revisions)
  }

  /** Tables may have other columns now. */
  forget(): void {
    this.#rows.forget()
    this.#kept.clear()
  }

  /** What is to be told whenever a statement that writes was run, with how many rows it has changed; null: nobody knows. */
  writing(sql: string): (parameters: readonly unknown[], changes: number | null) => void {
    return this.#rows.writing(sql)
  }

  /** The same query, which remembers, where it can. */
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
      // Bytes can be changed in place.
      else if (typeof value === 'object' && value !== null) return false
    }
  }
  return characters <= MAX_CHARACTERS
}
