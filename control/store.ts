import BetterSqlite3 from 'better-sqlite3'
import { Kysely, Migrator, SqliteDialect, type Transaction } from 'kysely'
import { MIGRATIONS } from './migrations/all.ts'
import { PreparedStatements } from './prepared-statements.ts'
import type { Database } from './tables.ts'

/** Something to query with: the database itself, or a transaction in it. */
export type Db = Kysely<Database> | Transaction<Database>
export type Trx = Transaction<Database>

export type Engine = 'sqlite' | 'postgres'

export interface Store {
  readonly engine: Engine
  readonly db: Kysely<Database>
  /** All or nothing; what `run` returns is committed, what it throws is rolled back. Transactions do not nest. */
  transaction<T>(run: (trx: Trx) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const BUSY_TIMEOUT_MS = 5000

/**
 * Opens the SQLite database at `file` (or `:memory:`) and brings its tables up to date.
 *
 * `synchronous = FULL`: with WAL, NORMAL may lose the last commits in a power cut, and what we acknowledged may not be lost.
 */
export async function openStore(file: string): Promise<Store> {
  const sqlite = new BetterSqlite3(file)
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = FULL')
  sqlite.pragma('foreign_keys = ON')
  sqlite.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  const database = new PreparedStatements(sqlite)
  const db = new Kysely<Database>({ dialect: new SqliteDialect({ database }) })
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) {
    await db.destroy()
    throw error
  }
  database.clear()
  return {
    engine: 'sqlite',
    db,
    transaction: run => db.transaction().execute(run),
    close: () => db.destroy(),
  }
}
