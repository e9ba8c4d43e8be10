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
  constructor(listeners: Listeners<DB>) {
    super()
    this.listeners = listeners
  }
}

/** A transaction that `afterCommit` may be asked for, and what does all that was asked once it is committed. */
export function following<DB>(
  trx: Transaction<DB>,
  listeners: Listeners<DB>,
): { trx: Transaction<DB>; run: () => void } {
  const plugin = new Following(listeners)
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

function followingOf<DB>(trx: Kysely<DB>): Following<DB> {
  const plugin = trx.getExecutor().plugins.find(one => one instanceof Following)
  if (!(plugin instanceof Following)) throw new Error('outside a transaction of the store')
  return plugin
}
