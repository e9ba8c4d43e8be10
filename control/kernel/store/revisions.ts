import type BetterSqlite3 from 'better-sqlite3'

/** A statement that writes rows of the table that it names, and of no other. */
const WRITES = /^\s*(?:insert\s+into|update)\s+"?(\w+)"?/i
/** What the body of a trigger writes to. */
const WRITES_OF_TRIGGER = /\b(?:insert\s+into|update|delete\s+from)\s+"?(\w+)"?/gi

/**
 * Tells whether something was written to tables of a SQLite database since another time it was asked, by whomever: every statement of this
 * process is told to it, and SQLite tells when another connection has committed (https://sqlite.org/pragma.html#pragma_data_version).
 */
export class Revisions {
  readonly #sqlite: BetterSqlite3.Database
  readonly #byTable = new Map<string, number>()
  readonly #dataVersion: BetterSqlite3.Statement<[], number>
  #seenVersion: number | undefined
  /** Of all tables. */
  #ofAll = 0
  #ofTriggers: ReadonlySet<string> | null = null

  constructor(sqlite: BetterSqlite3.Database) {
    this.#sqlite = sqlite
    this.#dataVersion = sqlite.prepare<[], number>('pragma data_version').pluck()
  }

  /** What is to be told whenever this statement was run. */
  noteOf(sql: string): () => void {
    // What is deleted may take rows of other tables along, and of other statements nobody knows.
    const table = WRITES.exec(sql)?.[1]
    if (table === undefined) return () => this.noteAll()
    return () => void this.#byTable.set(table, (this.#byTable.get(table) ?? 0) + 1)
  }

  /** Anything may have changed, tables themselves too. */
  noteAll(): void {
    this.#ofAll++
    this.#ofTriggers = null
  }

  /** Whether triggers write to a table: nobody tells when. */
  isOfTriggers(table: string): boolean {
    this.#ofTriggers ??= this.#readTriggers()
    return this.#ofTriggers.has(table)
  }

  #readTriggers(): Set<string> {
    const texts = this.#sqlite.prepare<[], string>(`select sql from sqlite_master where type = 'trigger'`).pluck().all()
    return new Set(texts.flatMap(text => [...text.matchAll(WRITES_OF_TRIGGER)].map(([, table]) => table!)))
  }

  /** Grows with each write to one of these tables. */
  of(tables: readonly string[]): number {
    const version = this.#dataVersion.get()
    if (version !== this.#seenVersion) {
      this.#seenVersion = version
      this.#ofAll++
    }
    let revision = this.#ofAll
    for (const table of tables) revision += this.#byTable.get(table) ?? 0
    return revision
  }
}
