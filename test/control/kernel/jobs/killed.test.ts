import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { enqueue } from '../../../../control/kernel/jobs/queue.ts'
import { openStore } from '../../../../control/kernel/store/store.ts'
import { forkFile } from '../../../fork.ts'
import { suite } from '../../../harness.ts'
import { makeDatabase } from '../../database.ts'
import './kinds.ts'

const test = suite('control/kernel/jobs/killed')

const ENTRY = 'control/kernel/jobs/killable-worker.ts'
const ROUNDS = 3
const JOBS_PER_ROUND = 80

test(
  'a worker is killed with -9 again and again, beside a second one; every job is done, and the effect of each happens once',
  async () => {
    const { target, remove } = await makeDatabase()
    const store = await openStore(target)
    const start = async (): Promise<ChildProcess> => {
      const worker = forkFile(ENTRY, [target])
      await once(worker, 'message')
      return worker
    }
    const enqueueRound = (round: number) =>
      store.transaction(async trx => {
        for (let i = 0; i < JOBS_PER_ROUND; i++) {
          await enqueue(trx, 'test.note', { text: `job ${round}.${i}` }, { now: new Date(), organisationId: null })
        }
      })
    const steady = await start()
    for (let round = 0; round < ROUNDS; round++) {
      const victim = await start()
      await enqueueRound(round)
      for (let begun = 0; begun <= round * 5; begun++) await once(victim, 'message')
      victim.kill('SIGKILL')
      await once(victim, 'exit')
    }
    const left = () => store.db.selectFrom('jobs').select('id').execute()
    while ((await left()).length > 0) await new Promise(resolve => setTimeout(resolve, 20))
    steady.kill('SIGKILL')
    await once(steady, 'exit')
    const effects = await store.db.selectFrom('settings').select('name').where('value', '=', 'done').execute()
    // Twice the same would have been refused by the table, and the job never finished.
    assert.is(effects.length, ROUNDS * JOBS_PER_ROUND)
    await store.close()
    await remove()
  },
  { timeoutMs: 60_000 },
)

test.run()
