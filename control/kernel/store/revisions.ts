import type BetterSqlite3 from 'better-sqlite3'

/** A statement that writes rows of the table that it names, and of no other. */
const WRITES = /^\s*(?:insert\s+into|update)\s+"?(\w+)"?/i
const DELETES = /^\s*delete\s+from\s+"?(\w+)"?/i
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
  #parents: ReadonlySet<string> | null = null

  constructor(sqlite: BetterSqlite3.Database) {
    this.#sqlite = sqlite
    this.#dataVersion = sqlite.prepare<[], number>('pragma data_version').pluck()
  }

  /** What is to be told whenever this statement was run. */
  noteOf(sql: string): () => void {
    const table = WRITES.exec(sql)?.[1]
    if (table !== undefined) return () => this.#note(table)
    const emptied = DELETES.exec(sql)?.[1]
    // Of other statements nobody knows.
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

  /** Tables themselves may have changed. */
  noteTables(): void {
    this.noteAll()
    this.#ofTriggers = null
    this.#parents = null
  }

  /** Whether what is deleted from a table changes rows of others. */
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

  /** Whether triggers write to a table: nobody tells when. */
  isOfTriggers(table: string): boolean {
    this.#ofTriggers ??= this.#readTriggers()
    return this.#ofTriggers.has(table)
  }

  #readTriggers(): Set<string> {
    const texts = this.#sqlite.prepare<[], string>(`select sql from sqlite_master where type = 'trigger'`).pluck().all()
    return new Set(texts.flatMap(text => [...text.matchAll(WRITES_OF_TRIGGER)].map(([, table]) => table!)))
  }

  /** Grows with each write that may have been one to any table. */
  ofAll(): number {
    const version = this.#dataVersion.get()
    if (version !== this.#seenVersion) {
      this.#seenVersion = version
      this.#ofAll++
    }
    return this.#ofAll
  }

  /** Grows with each write to one of these tables. */
  of(tables: readonly string[]): number {
    let revision = this.ofAll()
    for (const table of tables) revision += this.#byTable.get(table) ?? 0
    return revision
  }
}
