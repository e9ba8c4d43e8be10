import type BetterSqlite3 from 'better-sqlite3'
import { type LimitNode, SqliteQueryCompiler, type SqliteStatement, ValueNode } from 'kysely'
import { LRUCache } from 'lru-cache'
import { RememberedRows } from './remembered-rows.ts'
import { Revisions } from './revisions.ts'
import { rowMaker } from './rows-by-key.ts'

/** Maximum number of cached statements: far more than the product has, apart from `in (…)` lists of various lengths. */
const MAX_KEPT = 500
const CHANGES_TABLES = /^\s*(create|alter|drop)\b/i

/** Kysely's. */
const BEGIN = 'begin'

/** The writes were rolled back. */
const ROLLS_BACK = /^\s*rollback\b/i

/**
 * Writes the number of a LIMIT into the text. SQLite looks at it when it plans, so a statement whose limit is bound is compiled anew each
 * time that it runs: four to twelve times the time of a query that finds nothing.
 */
export class CompiledOnce extends SqliteQueryCompiler {
  protected override visitLimit(node: LimitNode): void {
    const { limit } = node
    if (ValueNode.is(limit) && Number.isSafeInteger(limit.value)) this.append(`limit ${limit.value}`)
    else super.visitLimit(node)
  }
}

/**
 * A SQLite database that compiles each SQL text once. Kysely requests a new statement for every query, and compiling takes
 * longer than running most of ours. At most `MAX_KEPT` statements are cached, and the least recently used goes first. When the tables change,
 * the cache is dropped: old statements would not know new columns.
 */
export class PreparedStatements {
  readonly #sqlite: BetterSqlite3.Database
  readonly #kept = new LRUCache<string, SqliteStatement>({ max: MAX_KEPT })
  readonly revisions: Revisions
  readonly #remembered: RememberedRows
  #asked = 0
  #transactions = 0
  /** By the open transaction, which may be rolled back. */
  #hasChangedTables = false

  constructor(sqlite: BetterSqlite3.Database) {
    this.#sqlite = sqlite
    this.revisions = new Revisions(sqlite)
    this.#remembered = new RememberedRows(sqlite, this.revisions)
  }

  /** Counts statements sent to SQLite, transactions begun, and queries answered from memory. */
  get counters(): { statements: number; transactions: number; remembered: number } {
    const { hits } = this.#remembered
    return { statements: this.#asked - hits, transactions: this.#transactions, remembered: hits }
  }

  /** Between `begin` and the end of a transaction. */
  get inTransaction(): boolean {
    return this.#sqlite.inTransaction
  }

  prepare(sql: string): SqliteStatement {
    this.#asked++
    if (sql === BEGIN) {
      this.#transactions++
      this.#hasChangedTables = false
      this.revisions.noteBegin()
    }
    const kept = this.#kept.get(sql)
    if (kept !== undefined) return kept
    if (ROLLS_BACK.test(sql)) {
      this.#rolledBack()
      // Not kept: each one is to be noted.
      return rowsMadeHere(this.#sqlite.prepare(sql))
    }
    if (CHANGES_TABLES.test(sql)) {
      this.#hasChangedTables = true
      this.#forgetTables()
      return noted(sql, this.#sqlite.prepare(sql), () => this.#forgetTables())
    }
    const statement = this.#sqlite.prepare(sql)
    const made = statement.readonly
      ? this.#rememberingRows(sql, rowsMadeHere(statement))
      : noted(sql, rowsMadeHere(statement), this.#noteOf(sql))
    this.#kept.set(sql, made)
    return made
  }

  /** The row of this table with these values, its key among them, if it is in memory; null: there is none; undefined: ask SQLite. */
  rowWith(table: string, values: Record<string, unknown>): Record<string, unknown> | null | undefined {
    const row = this.#remembered.rowWith(table, values)
    if (row !== undefined) this.#asked++
    return row
  }

  /** Whether certainly no row of this table has these values; false: ask SQLite. */
  isAbsent(table: string, values: Record<string, unknown>): boolean {
    return this.#remembered.isAbsent(table, values)
  }

  #rolledBack(): void {
    if (this.#hasChangedTables) this.#forgetTables()
    else this.revisions.noteAll()
  }

  #forgetTables(): void {
    this.#kept.clear()
    this.#remembered.forget()
    this.revisions.noteTables()
  }

  #noteOf(sql: string): Note {
    const note = this.revisions.noteOf(sql)
    const remember = this.#remembered.writing(sql)
    return (parameters, changes) => {
      if (changes !== 0) note()
      remember(parameters, changes)
    }
  }

  #rememberingRows(sql: string, statement: SqliteStatement): SqliteStatement {
    if (!statement.reader) return statement
    return { ...statement, all: this.#remembered.remembering(sql, parameters => statement.all(parameters)) }
  }

  close(): void {
    this.#kept.clear()
    this.#sqlite.close()
  }
}

/** What a store needs of them. */
export type Statements = Pick<PreparedStatements, keyof PreparedStatements>

/** A statement that reports how many rows it has changed. */
const COUNTS_ROWS = /^\s*(?:insert\s+into|update\s+"?\w+"?\s+set|delete\s+from)\b/i

/** Called with a statement's parameters and its number of changed rows; null: unknown, or it failed. */
type Note = (parameters: readonly unknown[], changes: number | null) => void

/** Wraps a statement to report its writes, even if it failed half-way. */
function noted(sql: string, statement: SqliteStatement, note: Note): SqliteStatement {
  const counts = COUNTS_ROWS.test(sql)
  const telling =
    <R>(run: (parameters: readonly unknown[]) => R, rowsOf: (result: R) => number) =>
    (parameters: readonly unknown[]): R => {
      let changes: number | null = null
      try {
        const result = run(parameters)
        if (counts) changes = rowsOf(result)
        return result
      } finally {
        note(parameters, changes)
      }
    }
  const all = telling(
    parameters => statement.all(parameters),
    rows => rows.length,
  )
  return {
    reader: statement.reader,
    all,
    run: telling(
      parameters => statement.run(parameters),
      ({ changes }) => Number(changes),
    ),
    iterate: parameters => all(parameters)[Symbol.iterator]() as IterableIterator<unknown>,
  }
}

/**
 * Wraps a statement to build its row objects here. The driver sets property by property from C++, which takes longer than the query
 * itself: more than half of the time for a page of 20 calls.
 */
function rowsMadeHere(statement: BetterSqlite3.Statement): SqliteStatement {
  if (!statement.reader) return statement
  const raw = statement.raw()
  const toRow = rowMaker(raw.columns().map(({ name }) => name))
  return {
    reader: true,
    all: parameters => raw.all(parameters).map(values => toRow(values as unknown[])),
    run: parameters => raw.run(parameters),
    *iterate(parameters) {
      for (const values of raw.iterate(parameters)) yield toRow(values as unknown[])
    },
  }
}
