/**
 * A worker to be killed at any moment. Started with a database, it runs jobs whose effect is a row in `settings`, written in the
 * transaction that finishes the job. It tells its parent when it is ready, and when an attempt begins.
 */
import { JobRunner } from '../../../../control/kernel/jobs/runner.ts'
import { openStore } from '../../../../control/kernel/store/store.ts'
import { silent } from '../../silent.ts'
import type { Note } from './kinds.ts'

export async function main(): Promise<void> {
  const store = await openStore(process.argv[2]!)
  const runner = new JobRunner({
    store,
    now: () => new Date(),
    log: silent,
    leaseMs: 300,
    pollMs: 5,
    concurrency: 4,
    handlers: {
      'test.note': {
        maxAttempts: 1000,
        async run({ text }: Note, { finish }) {
          process.send?.(text)
          await new Promise(resolve => setTimeout(resolve, 2))
          await store.transaction(async trx => {
            await trx.insertInto('settings').values({ name: text, value: 'done' }).execute()
            await finish(trx)
          })
        },
      },
    },
  })
  runner.start()
  process.send?.('ready')
  process.on('disconnect', () => process.exit(0))
}
