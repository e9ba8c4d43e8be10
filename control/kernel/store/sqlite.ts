import BetterSqlite3 from 'better-sqlite3'
import { type DatabaseConnection, type Driver, Kysely, SqliteAdapter, SqliteDialect, SqliteDriver } from 'kysely'
import { ofNode, type SteadyClock } from './node.ts'
import { PreparedStatements } from './prepared-statements.ts'
import { withShortcut } from './shortcut.ts'

const BUSY_TIMEOUT_MS = 5000

/**
 * After a full or failing disk SQLite has rolled the transaction back by itself (https://sqlite.org/lang_transaction.html), and a
 * ROLLBACK fails. Its error must not take the place of the one that tells why.
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

  override createAdapter(): SqliteAdapter {
    return withShortcut(ofNode(new SqliteAdapter(), this.#node, this.#steadyMs), this.#database)
  }
}

/**
 * The database in `file`, or one in memory: a new one, `:memory:`, or one that begins as the image of a file.
 *
 * `synchronous = NORMAL`: a commit is not synced by itself; what we acknowledge is, by `WalSync`, before the answer.
 */
export function sqliteDatabase<DB>(file: string | Buffer, node: string, steadyMs: SteadyClock): Kysely<DB> {
  const sqlite = new BetterSqlite3(file)
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = NORMAL')
  sqlite.pragma('foreign_keys = ON')
  sqlite.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return new Kysely<DB>({ dialect: new Dialect(new PreparedStatements(sqlite), node, steadyMs) })
}
