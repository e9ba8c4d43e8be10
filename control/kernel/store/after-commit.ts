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

/** Something that a transaction has written and reports: an event's type and object, its owner, and when (ISO-8601 UTC). */
export interface Fact {
  type: string
  object: object
  tenant: { organisationId: string; livemode: boolean }
  at: string
}

type Delivery = Selectable<Database['webhook_deliveries']>
type Outcome = 'last_attempt_at' | 'response_status' | 'response_body' | 'duration_ms' | 'error'
/** A claim on a delivery, as its row holds it. */
export type Claim = { [K in 'lease' | 'leased_until']: string }
/** A delivery of the outbox that is being written. */
export type NewDelivery = Omit<Delivery, keyof Claim | Outcome>

/** Delivers what the outbox holds. It may claim deliveries while they are written, so that they need not be looked for. */
export interface Sender {
  /** Null: it has no room, or others wait for it. */
  claim(delivery: NewDelivery): Claim | null
  /** It is committed. */
  begin(delivery: NewDelivery, claim: Claim): void
  /** It was rolled back. */
  giveUp(delivery: NewDelivery): void
}

export interface Listeners<DB> {
  /** Listeners that write consequences of a fact into its own transaction. */
  readonly within: ReadonlySet<(trx: Transaction<DB>, fact: Fact) => Promise<void> | undefined>
  /** Listeners for facts that were committed. */
  readonly committed: ReadonlySet<(fact: Fact) => void>
  /** Carries out effects outside of the database, after the commit. */
  readonly followUps: FollowUps
  readonly outbox: { readonly sender: Sender | null }
}

/** Follow-ups of a transaction, and whether it has written. */
class Following<DB> extends Carrier {
  hasWritten = false
  readonly tasks: (() => void)[] = []
  /** To be done if it is rolled back. */
  readonly undoing: (() => void)[] = []
  /** Requests that are carried out once, however often they are made. */
  readonly asked = new Set<string>()
  readonly listeners: Listeners<DB>
  /** Facts to be written together; null: each at once. */
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
 * A transaction that `afterCommit` may be asked for. `committed` does all that was asked for then, `rolledBack` what is to be undone.
 * `gathers`: for `together`.
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
      // A bug of the requester: the commit stays, and so do others' requests.
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

/** Runs `task` once this transaction is committed; never after a rollback. Whatever it starts handles its own failures. */
export const afterCommit = <DB>(trx: Kysely<DB>, task: () => void): void => void followingOf(trx).tasks.push(task)

/** Has the outbox's sender claim a delivery that this transaction writes. Null: it is to be looked for. */
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

/** Reports to `store.within` now, and to `store.committed` once this transaction is committed; after a rollback to nobody. */
export async function noteFact<DB>(trx: Transaction<DB>, fact: Fact): Promise<void> {
  const { tasks, listeners } = followingOf(trx)
  for (const listener of listeners.within) await listener(trx, fact)
  tasks.push(() => {
    for (const listener of listeners.committed) listener(fact)
  })
}

/**
 * Writes rows in this transaction; if `gathers`, together with others of the same `table` at its end. Code that then reads or changes such rows
 * in the same transaction calls `written` first.
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

/** Writes what waits for the end of this transaction, if it is one. */
export async function written<DB>(db: Kysely<DB>): Promise<void> {
  const gathered = findFollowing(db)?.gathered
  if (gathered == null) return
  // Writing may add more to be written.
  for (const [table, { rows, write }] of gathered) {
    gathered.delete(table)
    await write(rows as never[])
  }
}

/** To be called for each query that Kysely does not build anew. */
export const noteQuery = <DB>(db: Kysely<DB>, node: RootOperationNode): void => {
  if (!SelectQueryNode.is(node)) findFollowing(db)?.note(node)
}

/** Whether this transaction has written anything so far, or asked for anything after it. */
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
