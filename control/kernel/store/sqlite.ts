import BetterSqlite3 from 'better-sqlite3'
import {
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryCompiler,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
} from 'kysely'
import { ofNode, type SteadyClock } from './node.ts'
import { CompiledOnce, PreparedStatements } from './prepared-statements.ts'
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

class Dialect extends SqliteDialect {
  readonly #database: PreparedStatements
  readonly #node: string
  readonly #steadyMs: SteadyClock

  constructor(database: PreparedStatements, node: string, steadyMs: SteadyClock) {
    super({ database })
    this.#steadyMs = steadyMs
    this.#database = database
    this.#node = node
  }

  override createDriver(): Driver {
    return new CausalDriver({ database: this.#database })
  }

  override createQueryCompiler(): QueryCompiler {
    return new CompiledOnce()
  }

  override createAdapter(): SqliteAdapter {
    return withShortcut(ofNode(new SqliteAdapter(), this.#node, this.#steadyMs), this.#database)
  }
}

/**
 * The database in `file`, or in memory: a new one (`:memory:`), or a copy of a file's image.
 *
 * `synchronous = NORMAL`: a commit is not synced by itself. `WalSync` syncs it before it is acknowledged.
 */
export function sqliteDatabase<DB>(file: string | Buffer, node: string, steadyMs: SteadyClock): Kysely<DB> {
  const sqlite = new BetterSqlite3(file)
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = NORMAL')
  sqlite.pragma('foreign_keys = ON')
  sqlite.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  sqlite.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return new Kysely<DB>({ dialect: new Dialect(new PreparedStatements(sqlite), node, steadyMs) })
}
