import BetterSqlite3 from 'better-sqlite3'
import { Kysely, SqliteDialect, type SqliteDialectConfig } from 'kysely'
import { SqliteNode } from './node.ts'
import { PreparedStatements } from './prepared-statements.ts'

const BUSY_TIMEOUT_MS = 5000

class Dialect extends SqliteDialect {
  readonly #node: string

  constructor(config: SqliteDialectConfig, node: string) {
    super(config)
    this.#node = node
  }

  override createAdapter(): SqliteNode {
    return new SqliteNode(this.#node)
  }
}

/**
 * The database in `file`, or one in memory: a new one, `:memory:`, or one that begins as the image of a file.
 *
 * `synchronous = NORMAL`: a commit is not synced by itself; what we acknowledge is, by `WalSync`, before the answer.
 */
export function sqliteDatabase<DB>(file: string | Buffer, node: string): Kysely<DB> {
  const sqlite = new BetterSqlite3(file)
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = NORMAL')
  sqlite.pragma('foreign_keys = ON')
  sqlite.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return new Kysely<DB>({ dialect: new Dialect({ database: new PreparedStatements(sqlite) }, node) })
}
