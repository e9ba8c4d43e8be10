import type { Kysely, Transaction } from 'kysely'
import type { FollowUp, FollowUps } from '../follow-ups.ts'
import { Carrier } from './shortcut.ts'

/** Something that a transaction has written and told of: an event's type and object, of whom, and when (ISO-8601 UTC). */
export interface Fact {
  type: string
  object: object
  tenant: { organisationId: string; livemode: boolean }
  at: string
}

export interface Listeners<DB> {
  /** Write what follows of a fact into its own transaction. */
  readonly within: ReadonlySet<(trx: Transaction<DB>, fact: Fact) => Promise<void> | undefined>
  /** Hear what transactions have committed. */
  readonly committed: ReadonlySet<(fact: Fact) => void>
  /** Take what is to be done outside of the database once it is committed. */
  readonly followUps: FollowUps
}

/** What is to follow a transaction. */
class Following<DB> extends Carrier {
  readonly tasks: (() => void)[] = []
  /** What is asked for once, however often. */
  readonly asked = new Set<string>()
  readonly listeners: Listeners<DB>
  /** What is to be written together; null: each at once. */
  readonly gathered: Map<string, Gathered> | null
  constructor(listeners: Listeners<DB>, gathers: boolean) {
    super()
    this.listeners = listeners
    this.gathered = gathers ? new Map() : null
  }
}

interface Gathered {
  rows: unknown[]
  write: (rows: never[]) => Promise<void>
}

/** A transaction that `afterCommit` may be asked for, and what does all that was asked once it is committed. `gathers`: for `together`. */
export function following<DB>(
  trx: Transaction<DB>,
  listeners: Listeners<DB>,
  gathers: boolean,
): { trx: Transaction<DB>; run: () => void } {
  const plugin = new Following(listeners, gathers)
  const run = (): void => {
    for (const task of plugin.tasks) {
      try {
        task()
      } catch (error) {
        // A bug of who asked: what was committed stays, and so does what others have asked for.
        process.emitWarning(error instanceof Error ? error : String(error))
      }
    }
  }
  return { trx: trx.withPlugin(plugin), run }
}

/** A listener that is told of facts of these types and no others. */
export const only =
  <A extends unknown[], R>(types: readonly string[], listener: (...told: [...A, Fact]) => R) =>
  (...told: [...A, Fact]): R | undefined => {
    const fact = told.at(-1) as Fact
    return types.includes(fact.type) ? listener(...told) : undefined
  }

/** Runs `task` once this transaction is committed; never, when it is rolled back. What it begins handles its own failures. */
export const afterCommit = <DB>(trx: Kysely<DB>, task: () => void): void => void followingOf(trx).tasks.push(task)

/**
 * Begins `run` once this transaction is committed, in its turn among what follows for the same `key`. `once`: who asks again for the same
 * in this transaction has asked already.
 */
export function followUp<DB>(trx: Kysely<DB>, key: string, run: FollowUp, once?: string): void {
  const { tasks, asked, listeners } = followingOf(trx)
  if (once !== undefined) {
    if (asked.has(once)) return
    asked.add(once)
  }
  tasks.push(() => listeners.followUps.begin({ key, run }))
}

/** Told to `store.within` now, to `store.committed` once this transaction is committed; what is rolled back is told to nobody. */
export async function noteFact<DB>(trx: Transaction<DB>, fact: Fact): Promise<void> {
  const { tasks, listeners } = followingOf(trx)
  for (const listener of listeners.within) await listener(trx, fact)
  tasks.push(() => {
    for (const listener of listeners.committed) listener(fact)
  })
}

/**
 * Writes a row in this transaction: where it is one of many facts, with the others of the same `table` at its end. Who reads such rows, or
 * changes them, where others may have been written before in the same transaction, asks for `written` first.
 */
export async function together<DB, R>(
  trx: Kysely<DB>,
  table: string,
  row: R,
  write: (rows: readonly R[]) => Promise<void>,
): Promise<void> {
  const gathered = findFollowing(trx)?.gathered ?? null
  if (gathered === null) return write([row])
  const known = gathered.get(table)
  if (known === undefined) gathered.set(table, { rows: [row], write })
  else known.rows.push(row)
}

/** Writes what waits for the end of this transaction, if it is one. */
export async function written<DB>(db: Kysely<DB>): Promise<void> {
  const gathered = findFollowing(db)?.gathered
  if (gathered == null) return
  // What is written may have more written.
  for (const [table, { rows, write }] of gathered) {
    gathered.delete(table)
    await write(rows as never[])
  }
}

const findFollowing = <DB>(db: Kysely<DB>): Following<DB> | undefined =>
  db.getExecutor().plugins.find((one): one is Following<DB> => one instanceof Following)

function followingOf<DB>(trx: Kysely<DB>): Following<DB> {
  const plugin = findFollowing(trx)
  if (plugin === undefined) throw new Error('outside a transaction of the store')
  return plugin
}
