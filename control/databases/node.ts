import { type DialectAdapter, type Kysely, PostgresAdapter, SqliteAdapter } from 'kysely'

/** Where nobody says another: the one node of a database of its own. */
export const ONLY_NODE = 'node'

/**
 * A node is a control process with its media process. Who asks the database is a property of the connection, so that no
 * query can forget to say, or say another; the adapter is what every transaction of a database shares.
 */
export class SqliteNode extends SqliteAdapter {
  readonly node: string
  constructor(node: string) {
    super()
    this.node = node
  }
}

export class PostgresNode extends PostgresAdapter {
  readonly node: string
  constructor(node: string) {
    super()
    this.node = node
  }
}

/** The node that asks. */
export function nodeOf<DB>(db: Kysely<DB>): string {
  const { adapter }: { adapter: DialectAdapter } = db.getExecutor()
  return adapter instanceof SqliteNode || adapter instanceof PostgresNode ? adapter.node : ONLY_NODE
}
