import type { Kysely, KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs, Transaction } from 'kysely'

/** Carries what is to follow a transaction; queries stay as they are. */
class Following implements KyselyPlugin {
  readonly tasks: (() => void)[] = []
  transformQuery({ node }: PluginTransformQueryArgs) {
    return node
  }
  async transformResult({ result }: PluginTransformResultArgs) {
    return result
  }
}

/** A transaction that `afterCommit` may be asked for, and what does all that was asked once it is committed. */
export function following<DB>(trx: Transaction<DB>): { trx: Transaction<DB>; run: () => void } {
  const plugin = new Following()
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
export function afterCommit<DB>(trx: Kysely<DB>, task: () => void): void {
  const plugin = trx.getExecutor().plugins.find(one => one instanceof Following)
  if (!(plugin instanceof Following)) throw new Error('afterCommit outside a transaction of the store')
  plugin.tasks.push(task)
}
