import type BetterSqlite3 from 'better-sqlite3'

/** A statement that writes rows of the one table it names. */
const WRITES = /^\s*(?:insert\s+into|update)\s+"?(\w+)"?/i
const DELETES = /^\s*delete\s+from\s+"?(\w+)"?/i
/** The tables that the body of a trigger writes. */
const WRITES_OF_TRIGGER = /\b(?:insert\s+into|update|delete\s+from)\s+"?(\w+)"?/gi

/**
 * Tells whether tables of a SQLite database were written since an earlier question, by anybody. Every statement of this process is reported
 * to it, and SQLite tells when another connection has committed (https://sqlite.org/pragma.html#pragma_data_version).
 */
export class Revisions {
  readonly #sqlite: BetterSqlite3.Database
  readonly #byTable = new Map<string, number>()
  readonly #dataVersion: BetterSqlite3.Statement<[], number>
  #seenVersion: number | undefined
  /** The open transaction has its view of the database: what others commit does not change it (https://sqlite.org/isolation.html). */
  #isViewFixed = false
  /** `atOnce` runs; and SQLite was asked in it. */
  #isAtOnce = false
  #wasAsked = false
  /** For all tables. */
  #ofAll = 0
  #ofTriggers: ReadonlySet<string> | null = null
  #parents: ReadonlySet<string> | null = null

  constructor(sqlite: BetterSqlite3.Database) {
    this.#sqlite = sqlite
    this.#dataVersion = sqlite.prepare<[], number>('pragma data_version').pluck()
  }

  /** To be called after this statement has run. */
  noteOf(sql: string): () => void {
    const table = WRITES.exec(sql)?.[1]
    if (table !== undefined) return () => this.#note(table)
    const emptied = DELETES.exec(sql)?.[1]
    // Other statements may write anything.
    if (emptied === undefined) return () => this.noteAll()
    return () => (this.#takesAlong(emptied) ? this.noteAll() : this.#note(emptied))
  }

  #note(table: string): void {
    this.#byTable.set(table, (this.#byTable.get(table) ?? 0) + 1)
  }

  /** Any row may have changed. */
  noteAll(): void {
    this.#ofAll++
  }

  /** The schema may have changed. */
  noteTables(): void {
    this.noteAll()
    this.#ofTriggers = null
    this.#parents = null
  }

  /** Whether deletes from a table also change rows of others. */
  #takesAlong(table: string): boolean {
    this.#parents ??= new Set(
      this.#sqlite
        .prepare<[], string>(
          `select distinct f."table" from sqlite_master as m, pragma_foreign_key_list(m.name) as f
           where m.type = 'table' and f.on_delete not in ('NO ACTION', 'RESTRICT')`,
        )
        .pluck()
        .all(),
    )
    return this.#parents.has(table)
  }

  /** Whether triggers write a table: such writes are not reported. */
  isOfTriggers(table: string): boolean {
    this.#ofTriggers ??= this.#readTriggers()
    return this.#ofTriggers.has(table)
  }

  #readTriggers(): Set<string> {
    const texts = this.#sqlite.prepare<[], string>(`select sql from sqlite_master where type = 'trigger'`).pluck().all()
    return new Set(texts.flatMap(text => [...text.matchAll(WRITES_OF_TRIGGER)].map(([, table]) => table!)))
  }

  /** Grows with every write that may affect any table. */
  ofAll(): number {
    if (this.#wasAsked || (this.#isViewFixed && this.#sqlite.inTransaction)) return this.#ofAll
    this.#wasAsked = this.#isAtOnce
    const version = this.#dataVersion.get()
    if (version !== this.#seenVersion) {
      this.#seenVersion = version
      this.#ofAll++
    }
    // The question itself was a read.
    this.#isViewFixed = this.#sqlite.inTransaction
    return this.#ofAll
  }

  /**
   * Asks SQLite at most once in all of `run`, which is one question to the caller and writes nothing. What others commit during it is noticed by
   * the next question: what `run` reads and caches then counts as older than that.
   */
  atOnce<T>(run: () => T): T {
    if (this.#isAtOnce) return run()
    this.#isAtOnce = true
    try {
      return run()
    } finally {
      this.#isAtOnce = false
      this.#wasAsked = false
    }
  }

  /** To be called when a transaction begins. */
  noteBegin(): void {
    this.#isViewFixed = false
  }

  /** Grows with every write to one of these tables. */
  of(tables: readonly string[]): number {
    let revision = this.ofAll()
    for (const table of tables) revision += this.#byTable.get(table) ?? 0
    return revision
  }
}
