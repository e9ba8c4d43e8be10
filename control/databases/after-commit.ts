import type { Kysely, KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs, Transaction } from 'kysely'

/** Something that a transaction has written and told of: an event's type and object. */
export interface Fact {
  type: string
  object: object
}

/** Who hears what transactions have committed. */
export type Listeners = ReadonlySet<(fact: Fact) => void>

/** Carries what is to follow a transaction; queries stay as they are. */
class Following implements KyselyPlugin {
  readonly tasks: (() => void)[] = []
  readonly listeners: Listeners
  constructor(listeners: Listeners) {
    this.listeners = listeners
  }
  transformQuery({ node }: PluginTransformQueryArgs) {
    return node
  }
  async transformResult({ result }: PluginTransformResultArgs) {
    return result
  }
}

/** A transaction that `afterCommit` may be asked for, and what does all that was asked once it is committed. */
export function following<DB>(trx: Transaction<DB>, listeners: Listeners): { trx: Transaction<DB>; run: () => void } {
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

/** Runs `task` once this transaction is committed; never, when it is rolled back. What it begins handles its own failures. */
export const afterCommit = <DB>(trx: Kysely<DB>, task: () => void): void => void followingOf(trx).tasks.push(task)

/** To be told to `store.committed` once this transaction is committed; what is rolled back is told to nobody. */
export function noteFact<DB>(trx: Kysely<DB>, fact: Fact): void {
  const { tasks, listeners } = followingOf(trx)
  tasks.push(() => {
    for (const listener of listeners) listener(fact)
  })
}

function followingOf<DB>(trx: Kysely<DB>): Following {
  const plugin = trx.getExecutor().plugins.find(one => one instanceof Following)
  if (!(plugin instanceof Following)) throw new Error('outside a transaction of the store')
  return plugin
}
