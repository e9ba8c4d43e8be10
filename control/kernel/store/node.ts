import {
  type DialectAdapter,
  type Kysely,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  PostgresAdapter,
  SqliteAdapter,
  type Transaction,
} from 'kysely'

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

/** Makes queries speak for another node; queries stay as they are. */
class InPlaceOf implements KyselyPlugin {
  readonly node: string
  constructor(node: string) {
    this.node = node
  }
  transformQuery({ node }: PluginTransformQueryArgs) {
    return node
  }
  async transformResult({ result }: PluginTransformResultArgs) {
    return result
  }
}

/** The same, asking in place of a node that cannot ask any more. */
export function inPlaceOf<DB>(db: Transaction<DB>, node: string): Transaction<DB>
export function inPlaceOf<DB>(db: Kysely<DB>, node: string): Kysely<DB>
export function inPlaceOf<DB>(db: Kysely<DB>, node: string): Kysely<DB> {
  return db.withPlugin(new InPlaceOf(node))
}

/** The node that asks. */
export function nodeOf<DB>(db: Kysely<DB>): string {
  const { adapter, plugins }: { adapter: DialectAdapter; plugins: readonly KyselyPlugin[] } = db.getExecutor()
  const other = plugins.find(plugin => plugin instanceof InPlaceOf)
  if (other instanceof InPlaceOf) return other.node
  return adapter instanceof SqliteNode || adapter instanceof PostgresNode ? adapter.node : ONLY_NODE
}
