import type BetterSqlite3 from 'better-sqlite3'
import type { SqliteStatement } from 'kysely'

/** Statements kept at most: far more than the product has, but for lists of every length in `in (…)`. */
const MAX_KEPT = 500
const CHANGES_TABLES = /^\s*(create|alter|drop)\b/i

/**
 * A SQLite database that compiles each SQL text once: Kysely asks for a new statement with every query, and compiling takes
 * longer than most of ours run. At most `MAX_KEPT` statements are kept; the least recently used goes first. When the tables change,
 * none of before is used again: it would not know new columns.
 */
export class PreparedStatements {
  readonly #sqlite: BetterSqlite3.Database
  /** In the order of their last use. */
  readonly #kept = new Map<string, SqliteStatement>()

  constructor(sqlite: BetterSqlite3.Database) {
    this.#sqlite = sqlite
  }

  prepare(sql: string): SqliteStatement {
    const kept = this.#kept.get(sql)
    if (kept !== undefined) {
      this.#kept.delete(sql)
      this.#kept.set(sql, kept)
      return kept
    }
    if (CHANGES_TABLES.test(sql)) {
      this.#kept.clear()
      return this.#sqlite.prepare(sql)
    }
    const made = rowsMadeHere(this.#sqlite.prepare(sql))
    this.#kept.set(sql, made)
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value as string)
    return made
  }

  close(): void {
    this.#kept.clear()
    this.#sqlite.close()
  }
}

/**
 * The same statement, whose rows become objects here. The driver sets property by property from C++, which takes longer than the query
 * itself: of a page of 20 calls more than half of the time.
 */
function rowsMadeHere(statement: BetterSqlite3.Statement): SqliteStatement {
  if (!statement.reader) return statement
  const raw = statement.raw()
  const toRow = rowMaker(raw.columns().map(({ name }) => name))
  return {
    reader: true,
    all: parameters => raw.all(parameters).map(toRow),
    run: parameters => raw.run(parameters),
    *iterate(parameters) {
      for (const values of raw.iterate(parameters)) yield toRow(values)
    },
  }
}

/** Written as code, so that all rows of a statement have one shape that V8 knows from the beginning. */
const rowMaker = (columns: readonly string[]): ((values: unknown) => unknown) =>
  new Function(
    'values',
    `return { ${columns.map((name, i) => `${JSON.stringify(name)}: values[${i}]`).join(', ')} }`,
  ) as never
