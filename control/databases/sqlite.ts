import BetterSqlite3 from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'

const BUSY_TIMEOUT_MS = 5000

/**
 * The database in `file`, or a new one in `:memory:`.
 *
 * `synchronous = FULL`: with WAL, NORMAL may lose the last commits in a power cut, and what we acknowledged may not be lost.
 */
export function sqliteDatabase<DB>(file: string): Kysely<DB> {
  const sqlite = new BetterSqlite3(file)
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = FULL')
  sqlite.pragma('foreign_keys = ON')
  sqlite.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return new Kysely<DB>({ dialect: new SqliteDialect({ database: sqlite }) })
}
