import BetterSqlite3 from 'better-sqlite3'
import { type DatabaseConnection, type Dialect, Kysely, SqliteAdapter, SqliteDriver, SqliteIntrospector } from 'kysely'
import { ofNode, type SteadyClock } from './node.ts'
import { CompiledOnce, type Statements } from './prepared-statements.ts'
import { Reader } from './reader.ts'
import { withShortcut } from './shortcut.ts'

const BUSY_TIMEOUT_MS = 5000
/**
 * Pages in the write-ahead log from which on a commit copies them into the file, and syncs both: it blocks the thread. That is left to a thread
 * of its own (`Checkpoints`), which many commits at once may outrun.
 */
const CHECKPOINT_PAGES = 16_000

/**
 * After a full or failing disk SQLite has already rolled the transaction back (https://sqlite.org/lang_transaction.html), so a
 * ROLLBACK fails. Its error must not hide the one with the cause.
 */
class CausalDriver extends SqliteDriver {
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch((error: Error) => {
      if (!/no transaction is active/.test(error.message)) throw error
    })
  }
}

/** Kysely would run each statement of a migration by itself, so that one that is stopped half way could never be run again. */
class MigratingAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

const dialectOn = (database: Statements, node: string, steadyMs: SteadyClock): Dialect => ({
  createDriver: () => new CausalDriver({ database }),
  createQueryCompiler: () => new CompiledOnce(),
  createAdapter: () => withShortcut(ofNode(new MigratingAdapter(), node, steadyMs), database),
  createIntrospector: db => new SqliteIntrospector(db),
})

/**
 * A connection to the database in `file`, or in memory: a new one (`:memory:`), or a copy of a file's image. `synchronous = NORMAL`: a commit
 * is not synced by itself. `WalSync` syncs it before it is acknowledged.
 */
export function connectTo(file: string | Buffer): BetterSqlite3.Database {
  const sqlite = new BetterSqlite3(file)
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = NORMAL')
  sqlite.pragma('foreign_keys = ON')
  // What was deleted is not to be read in the file either.
  sqlite.pragma('secure_delete = ON')
  sqlite.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  sqlite.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return sqlite
}

export const sqliteDatabase = <DB>(statements: Statements, node: string, steadyMs: SteadyClock): Kysely<DB> =>
  new Kysely<DB>({ dialect: dialectOn(statements, node, steadyMs) })

/** The same file, for long reads. */
export const readerDatabase = <DB>(file: string, node: string, steadyMs: SteadyClock): Kysely<DB> =>
  new Kysely<DB>({
    dialect: {
      createDriver: () => new Reader(file),
      createQueryCompiler: () => new CompiledOnce(),
      createAdapter: () => ofNode(new SqliteAdapter(), node, steadyMs),
      createIntrospector: db => new SqliteIntrospector(db),
    },
  })
