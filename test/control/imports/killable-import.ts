/**
 * The imports of a control process, to be killed at any moment. Started with a database, it tells its parent of every batch that it has
 * written.
 */

import { importHandler } from '../../../control/imports/run-job.ts'
import { releaseInterruptedJobs } from '../../../control/kernel/jobs/claims.ts'
import { JobRunner } from '../../../control/kernel/jobs/runner.ts'
import { openStore } from '../../../control/kernel/store/store.ts'
import '../../../control/wiring/event-catalog.ts'
import { IMPORT_TARGETS } from '../../../control/wiring/import-targets.ts'
import { silent } from '../silent.ts'

/** Longer than the test may take, so that a lease never expires in it. */
const LEASE_MS = 600_000

export async function main(): Promise<void> {
  const [target = ''] = process.argv.slice(2)
  const store = await openStore(target)
  // As a control process does when it starts.
  await releaseInterruptedJobs(store)
  const now = (): Date => new Date()
  const numbers = IMPORT_TARGETS.do_not_call_numbers!
  const telling = {
    ...numbers,
    write: async (...written: Parameters<typeof numbers.write>) => {
      const isNew = await numbers.write(...written)
      process.send?.('batch')
      return isNew
    },
  }
  const handlers = {
    'import.run': importHandler({ store, now, targets: { do_not_call_numbers: telling }, batchRows: 50 }),
  }
  new JobRunner({ store, now, log: silent, handlers, leaseMs: LEASE_MS, pollMs: 20 }).start()
  process.on('disconnect', () => process.exit(0))
}
