import type BetterSqlite3 from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { LargestKeys } from './largest-keys.ts'
import type { Revisions } from './revisions.ts'
import { equalitiesOf, RowsByKey, rowCopier } from './rows-by-key.ts'

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
  readonly #largest: LargestKeys
  readonly #kept = new LRUCache<string, Answer>({ max: MAX_KEPT })
  #statements = 0
  /** Queries answered without SQLite. */
  hits = 0

  constructor(sqlite: BetterSqlite3.Database, revisions: Revisions) {
    this.#revisions = revisions
    this.#rows = new RowsByKey(sqlite, revisions)
    this.#largest = new LargestKeys(sqlite, revisions)
  }

  /** Tables may have new columns. */
  forget(): void {
    this.#rows.forget()
    this.#largest.forget()
    this.#kept.clear()
  }

  /** To be called after every writing statement, with its number of changed rows; null: unknown. */
  writing(sql: string): (parameters: readonly unknown[], changes: number | null) => void {
    return this.#rows.writing(sql)
  }

  /** A row by its key, without a query; null: there is none with these values; undefined: ask the database. */
  rowWith(table: string, values: Row): Row | null | undefined {
    return this.#revisions.atOnce(() => {
      const row = this.#rows.rowWith(table, values)
      const known = row === undefined && this.isAbsent(table, values) ? null : row
      if (known !== undefined) this.hits++
      return known
    })
  }

  /** Whether certainly no row of this table has these values; false: ask the database. */
  isAbsent(table: string, values: Row): boolean {
    for (const column in values) if (this.#largest.isAbsent(table, column, values[column])) return true
    return false
  }

  /** Wraps a query with the cache, if it can be cached. */
  remembering(sql: string, all: (parameters: readonly unknown[]) => unknown[]): typeof all {
    const remembering = this.#remembering(sql, all)
    return remembering === all ? all : parameters => this.#revisions.atOnce(() => remembering(parameters))
  }

  #remembering(sql: string, all: (parameters: readonly unknown[]) => unknown[]): typeof all {
    const tables = PLAIN.test(sql) && !OTHERS.test(sql) ? [...sql.matchAll(TABLES)].map(([, table]) => table!) : []
    if (tables.length === 0 || tables.some(table => this.#revisions.isOfTriggers(table))) return all
    const byTables = this.#ofNewKeys(sql, this.#byTables(tables, all))
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

  /** Answers at once if a column is to equal an ID that it cannot have yet. */
  #ofNewKeys(sql: string, all: (parameters: readonly unknown[]) => unknown[]): typeof all {
    const equal = equalitiesOf(sql)
    if (equal === null) return all
    const { table, columns } = equal
    return parameters => {
      const isEmpty = columns.some(({ column, place }) => this.#largest.isAbsent(table, column, parameters[place]))
      if (!isEmpty) return all(parameters)
      this.hits++
      return []
    }
  }

  #byTables(tables: string[], all: (parameters: readonly unknown[]) => unknown[]): typeof all {
    const number = ++this.#statements
    let copyOf: ((row: Row) => Row) | null = null
    const copiesOf = (rows: readonly Row[]): Row[] => {
      if (rows.length === 0) return []
      copyOf ??= rowCopier(Object.keys(rows[0]!))
      return rows.map(copyOf)
    }
    return parameters => {
      if (!parameters.every(isPlain)) return all(parameters)
      const revision = this.#revisions.of(tables)
      const key = `${number} ${JSON.stringify(parameters)}`
      const known = this.#kept.get(key)
      if (known?.revision === revision) {
        this.hits++
        return copiesOf(known.rows)
      }
      const rows = all(parameters) as Row[]
      if (isSmall(rows)) this.#kept.set(key, { revision, rows: copiesOf(rows) })
      else this.#kept.delete(key)
      return rows
    }
  }
}

const isPlain = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number' || value === null

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
