import * as assert from 'uvu/assert'
import { storeCounters } from '../../../../control/kernel/store/shortcut.ts'
import { suite } from '../../../harness.ts'
import { makeCallsWorld } from '../../calls-world.ts'
import { testEngine } from '../../database.ts'

const test = suite(`control/calls/conductor/statements on ${testEngine}`)

/** Of the calls that begin together. */
const CALLS = 8
/** Begins, moves the position, and commits: how many of media's events that is for depends on when they come. */
const OF_EACH_BATCH = 3
/** Of an incoming call into the echo, answered and hung up, with its events to one endpoint: what it writes, and what only the database knows. */
const MOST = 18

test('an incoming call, answered and hung up, asks the database no more than it has to, and many at once less each', async () => {
  // PostgreSQL counts for itself.
  if (testEngine !== 'sqlite') return
  const world = await makeCallsWorld()
  const { media, store } = world
  await world.control.ask('POST /v1/webhook_endpoints', { url: 'https://hooks.example/', event_types: ['*'] })
  const cost = async (legs: string[]) => {
    const before = storeCounters(store.db)
    for (const leg of legs) media.dialIn(leg, '1002')
    for (const leg of legs) await media.command('leg.play', leg)
    for (const leg of legs) media.hangUp(leg)
    await media.committed()
    await world.control.idle()
    const after = storeCounters(store.db)
    const per = (name: string): number => (after[name]! - before[name]!) / legs.length
    return { own: per('statements') - OF_EACH_BATCH * per('transactions'), all: per('statements') }
  }
  await cost(['part_first'])
  const alone = await cost(['part_alone'])
  assert.ok(alone.own <= MOST, `${alone.own} statements beside those of its batches`)
  const together = await cost(Array.from({ length: CALLS }, (_, n) => `part_${n}`))
  assert.ok(together.own <= alone.own, `${together.own} of each of many, ${alone.own} of one alone`)
  assert.ok(together.all < alone.all, `${together.all} of each of many, ${alone.all} of one alone`)
  await world.close()
})

test.run()
