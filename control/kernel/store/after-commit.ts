import {
  type Kysely,
  type PluginTransformQueryArgs,
  type RootOperationNode,
  type Selectable,
  SelectQueryNode,
  type Transaction,
} from 'kysely'
import type { FollowUp, FollowUps } from '../follow-ups.ts'
import { Carrier } from './shortcut.ts'
import type { Database } from './tables.ts'

/** Something that a transaction reports about what it writes: a type such as an event's, the object, its owner, and when (ISO-8601 UTC). */
export interface Fact {
  type: string
  object: object
  tenant: { organisationId: string; livemode: boolean }
  at: string
}

type Delivery = Selectable<Database['webhook_deliveries']>
type Outcome = 'last_attempt_at' | 'response_status' | 'response_body' | 'duration_ms' | 'error'
/** The columns by which a sender claims a delivery for itself for a while. */
export type Claim = { [K in 'lease' | 'leased_until']: string }
/** A webhook delivery as it is inserted. */
export type NewDelivery = Omit<Delivery, keyof Claim | Outcome>

/** Sends the deliveries of the outbox. It may claim deliveries already as they are written, which saves the query that finds them later. */
export interface Sender {
  /** Null: it has no capacity, or earlier deliveries wait. */
  claim(delivery: NewDelivery): Claim | null
  /** Sends a claimed delivery, which is now committed. */
  begin(delivery: NewDelivery, claim: Claim): void
  /** Drops a claimed delivery, whose transaction was rolled back. */
  giveUp(delivery: NewDelivery): void
}

interface Listeners<DB> {
  /** Listeners that write consequences of a fact into its own transaction. */
  readonly within: ReadonlySet<(trx: Transaction<DB>, fact: Fact) => Promise<void> | undefined>
  /** Listeners for facts that were committed. */
  readonly committed: ReadonlySet<(fact: Fact) => void>
  /** Carries out effects outside of the database, after the commit. */
  readonly followUps: FollowUps
  readonly outbox: { readonly sender: Sender | null }
}

/** What is to be done after a transaction, and whether it has written anything. */
class Following<DB> extends Carrier {
  hasWritten = false
  readonly tasks: (() => void)[] = []
  /** What is to be done if it is rolled back. */
  readonly undoing: (() => void)[] = []
  /** Values of `once` (`followUp`) so far. */
  readonly asked = new Set<string>()
  /** What causes all that is written now, as `causedBy` says. */
  cause: object | null = null
  readonly listeners: Listeners<DB>
  /** Rows that `together` collects, by table; null: they are written at once. */
  readonly gathered: Map<string, Gathered> | null
  constructor(listeners: Listeners<DB>, gathers: boolean) {
    super()
    this.listeners = listeners
    this.gathered = gathers ? new Map() : null
  }

  override transformQuery(args: PluginTransformQueryArgs) {
    this.note(args.node)
    return super.transformQuery(args)
  }

  note(node: RootOperationNode): void {
    if (!SelectQueryNode.is(node)) this.hasWritten = true
  }
}

interface Gathered {
  rows: unknown[]
  write: (rows: never[]) => Promise<void>
}

/**
 * Makes a transaction that `afterCommit` and its like can be called with. Whoever runs it calls `committed` or `rolledBack` at its end, to do what
 * was asked for. `gathers`: `together` collects rows until its end.
 */
export function following<DB>(
  trx: Transaction<DB>,
  listeners: Listeners<DB>,
  gathers: boolean,
): { trx: Transaction<DB>; committed: () => void; rolledBack: () => void } {
  const plugin = new Following(listeners, gathers)
  const { tasks, undoing } = plugin
  return { trx: trx.withPlugin(plugin), committed: () => doAll(tasks), rolledBack: () => doAll(undoing) }
}

function doAll(tasks: readonly (() => void)[]): void {
  for (const task of tasks) {
    try {
      task()
    } catch (error) {
      // A bug of whoever asked for it: the commit stands, and the other tasks are still done.
      process.emitWarning(error instanceof Error ? error : String(error))
    }
  }
}

/** A listener for facts of these types only. */
export const only =
  <A extends unknown[], R>(types: readonly string[], listener: (...told: [...A, Fact]) => R) =>
  (...told: [...A, Fact]): R | undefined => {
    const fact = told.at(-1) as Fact
    return types.includes(fact.type) ? listener(...told) : undefined
  }

/** Runs `task` once this transaction is committed, never after a rollback. The task handles failures of what it starts. */
export const afterCommit = <DB>(trx: Kysely<DB>, task: () => void): void => void followingOf(trx).tasks.push(task)

/** Offers a delivery that this transaction writes to the outbox's sender. Null: not claimed, so the sender finds it later by a query. */
export function claimFor<DB>(trx: Kysely<DB>, delivery: NewDelivery): Claim | null {
  const { tasks, undoing, listeners } = followingOf(trx)
  const { sender } = listeners.outbox
  const claim = sender?.claim(delivery) ?? null
  if (sender === null || claim === null) return null
  tasks.push(() => sender.begin(delivery, claim))
  undoing.push(() => sender.giveUp(delivery))
  return claim
}

/**
 * Starts `run` once this transaction is committed, in its turn among the follow-ups of the same `key`. `once`: repeated requests with this
 * value in the same transaction are ignored.
 */
export function followUp<DB>(trx: Kysely<DB>, key: string, run: FollowUp, once?: string): void {
  const { tasks, asked, listeners } = followingOf(trx)
  if (once !== undefined) {
    if (asked.has(once)) return
    asked.add(once)
  }
  tasks.push(() => listeners.followUps.begin({ key, run }))
}

/** Runs `write`; what it writes is caused by this, whoever writes it (`causeOf`). */
export async function causedBy<DB, T>(trx: Kysely<DB>, cause: object | null, write: () => Promise<T>): Promise<T> {
  const plugin = followingOf(trx)
  const before = plugin.cause
  plugin.cause = cause
  try {
    return await write()
  } finally {
    plugin.cause = before
  }
}

export const causeOf = <DB>(trx: Kysely<DB>): object | null => followingOf(trx).cause

/** Reports a fact to `store.within` now, and to `store.committed` once this transaction is committed. */
export async function noteFact<DB>(trx: Transaction<DB>, fact: Fact): Promise<void> {
  const { tasks, listeners } = followingOf(trx)
  for (const listener of listeners.within) await listener(trx, fact)
  tasks.push(() => {
    for (const listener of listeners.committed) listener(fact)
  })
}

/**
 * Writes rows: at once, or at the end of a transaction that `gathers`, together with others of the same `table`. Code that reads or changes such
 * rows in the same transaction calls `written` first.
 */
export async function together<DB, R>(
  trx: Kysely<DB>,
  table: string,
  rows: readonly R[],
  write: (rows: readonly R[]) => Promise<void>,
): Promise<void> {
  const gathered = findFollowing(trx)?.gathered ?? null
  if (gathered === null) return write(rows)
  const known = gathered.get(table)
  if (known === undefined) gathered.set(table, { rows: [...rows], write })
  else known.rows.push(...rows)
}

/** Writes the rows that `together` has collected, if this is such a transaction. */
export async function written<DB>(db: Kysely<DB>): Promise<void> {
  const gathered = findFollowing(db)?.gathered
  if (gathered == null) return
  // Writing may collect more rows; the loop also finds those.
  for (const [table, { rows, write }] of gathered) {
    gathered.delete(table)
    await write(rows as never[])
  }
}

/** To be called for each query that is compiled once and runs past Kysely's plugins. */
export const noteQuery = <DB>(db: Kysely<DB>, node: RootOperationNode): void => {
  if (!SelectQueryNode.is(node)) findFollowing(db)?.note(node)
}

/** Whether this transaction has written or collected anything so far, or asked for anything after its commit. */
export function leavesTrace<DB>(trx: Transaction<DB>): boolean {
  const { hasWritten, tasks, gathered } = followingOf(trx)
  return hasWritten || tasks.length > 0 || (gathered !== null && gathered.size > 0)
}

const findFollowing = <DB>(db: Kysely<DB>): Following<DB> | undefined =>
  db.getExecutor().plugins.find((one): one is Following<DB> => one instanceof Following)

function followingOf<DB>(trx: Kysely<DB>): Following<DB> {
  const plugin = findFollowing(trx)
  if (plugin === undefined) throw new Error('outside a transaction of the store')
  return plugin
}
