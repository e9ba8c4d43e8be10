import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import type { Fact } from '../../../control/kernel/store/after-commit.ts'
import { suite } from '../../harness.ts'
import { until } from '../calls-world.ts'
import { callOf, type LiveWorld, makeFlow, makeLiveWorld } from './live-world.ts'

const test = suite('control/assistants/slow-hand-over')

const to = (next: string) => ({ condition: { kind: 'always' }, next })

const HELLO = {
  kind: 'ivr',
  nodes: [
    { key: 'start', type: 'start', transitions: [to('ask')] },
    { key: 'ask', type: 'collect', script: 'Your number, please.', save_as: 'number', transitions: [to('bye')] },
    { key: 'bye', type: 'end', script: 'Goodbye.' },
  ],
  variables: [{ name: 'number', sample: null }],
}
/** What is slower than this was led by nobody once [ms]. */
const SLOW_MS = 1100

/** The next transaction with this event does not end before it may. */
function holdCommit({ store }: LiveWorld, type: string): { reached: Promise<void>; free: () => void } {
  let [reach, free] = [() => {}, () => {}]
  const reached = new Promise<void>(resolve => (reach = resolve))
  const held = new Promise<void>(resolve => (free = resolve))
  const hold = async (_trx: unknown, fact: Fact): Promise<void> => {
    if (fact.type !== type) return
    store.within.delete(hold)
    reach()
    await held
  }
  store.within.add(hold)
  return { reached, free }
}

/** The flow leads it, and began once. */
async function isLed({ media, programs }: LiveWorld, legId: string): Promise<void> {
  await media.command('leg.collect', legId)
  await until(() => programs.running === 1)
  assert.is(media.sent('leg.collect').filter(sent => sent.legId === legId).length, 1)
}

test('a call whose answer takes longer than a second to be written is led when it is', async () => {
  const world = await makeLiveWorld()
  await makeFlow(world, HELLO)
  const { reached, free } = holdCommit(world, 'call.answered')
  world.media.dialIn('part_1', '2000')
  await callOf(world, 'part_1')
  await reached
  await sleep(SLOW_MS)
  assert.is(world.media.sent('leg.collect').length, 0, 'it is led by nobody yet')
  free()
  await isLed(world, 'part_1')
  await world.close()
})

test('an answered call whose hand-over takes longer than a second to be written is led when it is', async () => {
  const world = await makeLiveWorld()
  const flow = await makeFlow(world, HELLO)
  await world.make('/inbound_routes', { match: { to: '1' }, target: { type: 'echo' } })
  world.media.dialIn('part_1', '1')
  const callId = await callOf(world, 'part_1')
  await world.media.committed()
  const { reached, free } = holdCommit(world, 'call.transferred')
  const moved = world.ask(`POST /v1/calls/${callId}/transfer`, { flow_id: flow })
  await reached
  await sleep(SLOW_MS)
  free()
  assert.is((await moved).status, 200)
  await isLed(world, 'part_1')
  await world.close()
})

test.run()
