import type { DialectAdapter, Kysely, KyselyPlugin, Transaction } from 'kysely'
import { Carrier } from './shortcut.ts'

/** A steady clock of the machine [ms], for durations; only comparable on the same machine. */
export type SteadyClock = () => number

/** Since the machine was booted, so it outlives this process. */
export const sinceBoot: SteadyClock = () => Number(process.hrtime.bigint() / 1_000_000n)

/** The default: the only node of its own database. */
export const ONLY_NODE = 'node'

/**
 * A node is a control process with its media process. The asking node is a property of the connection, so no query can forget it or name
 * another one. All transactions of a database share the adapter, which carries it.
 */
export function ofNode<A extends DialectAdapter>(adapter: A, node: string, steadyMs: SteadyClock): A {
  owners.set(adapter, { node, steadyMs })
  return adapter
}

const owners = new WeakMap<DialectAdapter, { node: string; steadyMs: SteadyClock }>()

/** Makes queries act for another node. */
class InPlaceOf extends Carrier {
  readonly node: string
  constructor(node: string) {
    super()
    this.node = node
  }
}

/** The same, on behalf of a node that can no longer ask. */
export function inPlaceOf<DB>(db: Transaction<DB>, node: string): Transaction<DB>
export function inPlaceOf<DB>(db: Kysely<DB>, node: string): Kysely<DB>
export function inPlaceOf<DB>(db: Kysely<DB>, node: string): Kysely<DB> {
  return db.withPlugin(new InPlaceOf(node))
}

/** The asking node. */
export function nodeOf<DB>(db: Kysely<DB>): string {
  const { adapter, plugins }: { adapter: DialectAdapter; plugins: readonly KyselyPlugin[] } = db.getExecutor()
  const other = plugins.find(plugin => plugin instanceof InPlaceOf)
  if (other instanceof InPlaceOf) return other.node
  return owners.get(adapter)?.node ?? ONLY_NODE
}

/** The steady clock of the asking node [ms]; null: unavailable, because others ask on its behalf. */
export function steadyMsOf<DB>(db: Kysely<DB>): number | null {
  const { adapter, plugins }: { adapter: DialectAdapter; plugins: readonly KyselyPlugin[] } = db.getExecutor()
  if (plugins.some(plugin => plugin instanceof InPlaceOf)) return null
  return (owners.get(adapter)?.steadyMs ?? sinceBoot)()
}

/**
 * The time since `since`, which was taken by both clocks of a node [ms]: by the steady clock, if the same node asks and its machine was not
 * rebooted; otherwise by the wall clock, which an operator may have set.
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
