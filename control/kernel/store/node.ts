import type { DialectAdapter, Kysely, KyselyPlugin, Transaction } from 'kysely'
import { Carrier } from './shortcut.ts'

/** A clock of the machine that nobody sets [ms]: for how long something takes, and comparable on its own machine alone. */
export type SteadyClock = () => number

/** Since the machine was started: it outlives this process. */
export const sinceBoot: SteadyClock = () => Number(process.hrtime.bigint() / 1_000_000n)

/** Where nobody says another: the one node of a database of its own. */
export const ONLY_NODE = 'node'

/**
 * A node is a control process with its media process. Who asks the database is a property of the connection, so that no
 * query can forget to say, or say another; the adapter is what every transaction of a database shares.
 */
export function ofNode<A extends DialectAdapter>(adapter: A, node: string, steadyMs: SteadyClock): A {
  owners.set(adapter, { node, steadyMs })
  return adapter
}

const owners = new WeakMap<DialectAdapter, { node: string; steadyMs: SteadyClock }>()

/** Makes queries speak for another node. */
class InPlaceOf extends Carrier {
  readonly node: string
  constructor(node: string) {
    super()
    this.node = node
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
  return owners.get(adapter)?.node ?? ONLY_NODE
}

/** What the steady clock of the node that asks shows [ms]; null: it cannot be asked, for others ask in its place. */
export function steadyMsOf<DB>(db: Kysely<DB>): number | null {
  const { adapter, plugins }: { adapter: DialectAdapter; plugins: readonly KyselyPlugin[] } = db.getExecutor()
  if (plugins.some(plugin => plugin instanceof InPlaceOf)) return null
  return (owners.get(adapter)?.steadyMs ?? sinceBoot)()
}

/**
 * How long ago `since` was, which both clocks of a node have told [ms]: by the steady one, where that node asks and its machine has not
 * been started anew; else by the time of day, which an operator may have set.
 */
export function elapsedMs<DB>(
  db: Kysely<DB>,
  since: { steadyMs: number | null; node: string | null; at: string },
  now: string,
): number {
  const steady = since.node === nodeOf(db) ? steadyMsOf(db) : null
  const elapsed = steady === null || since.steadyMs === null ? -1 : steady - since.steadyMs
  return elapsed >= 0 ? elapsed : Math.max(0, Date.parse(now) - Date.parse(since.at))
}
