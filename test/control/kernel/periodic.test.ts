import * as assert from 'uvu/assert'
import { Periodic } from '../../../control/kernel/periodic.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'

const test = suite('control/kernel/periodic')

/** A clock on which one task waits at most, until it is told to run. */
function handClock() {
  let waiting: (() => void) | null = null
  const later = (task: () => void) => {
    waiting = task
    return () => {
      waiting = null
    }
  }
  const strike = async (): Promise<boolean> => {
    const task = waiting
    waiting = null
    task?.()
    await new Promise(resolve => setImmediate(resolve))
    return task !== null
  }
  return { later, strike }
}

test('a duty comes again after each run, also after one that failed', async () => {
  const { later, strike } = handClock()
  let runs = 0
  const run = async () => {
    runs += 1
    if (runs === 1) throw new Error('the first run fails')
  }
  const duty = new Periodic({ name: 'duty', everyMs: 1000, run, log: silent, later })
  duty.start()
  assert.is(runs, 0)
  for (let i = 0; i < 3; i++) assert.ok(await strike())
  assert.is(runs, 3)
  await duty.close()
  assert.not.ok(await strike(), 'none comes after it is closed')
})

test('closing waits for the run that is under way, and none comes after it', async () => {
  const { later, strike } = handClock()
  let finish = (): void => {}
  const run = () => new Promise<void>(resolve => (finish = resolve))
  const duty = new Periodic({ name: 'duty', everyMs: 1000, run, log: silent, later })
  duty.start()
  await strike()
  let isClosed = false
  const closing = duty.close().then(() => (isClosed = true))
  await new Promise(resolve => setImmediate(resolve))
  assert.is(isClosed, false)
  finish()
  await closing
  assert.not.ok(await strike())
})

test('a duty that is hurried runs at once, and once more if it was under way, never twice at the same time', async () => {
  const { later, strike } = handClock()
  const turn = () => new Promise(resolve => setImmediate(resolve))
  let [runs, atOnce] = [0, 0]
  let finish = (): void => {}
  const run = async () => {
    runs += 1
    assert.is(++atOnce, 1)
    await new Promise<void>(resolve => (finish = resolve))
    atOnce -= 1
  }
  const duty = new Periodic({ name: 'duty', everyMs: 1000, run, log: silent, later })
  duty.start()
  duty.hurry()
  await turn()
  assert.is(runs, 1)
  for (let i = 0; i < 3; i++) duty.hurry()
  await turn()
  assert.is(runs, 1)
  finish()
  await turn()
  assert.is(runs, 2)
  finish()
  await turn()
  assert.is(runs, 2)
  assert.ok(await strike(), 'the next comes as usual')
  assert.is(runs, 3)
  finish()
  await duty.close()
  assert.not.ok(await strike())
})

test('the first run may come sooner than the others', async () => {
  const { later, strike } = handClock()
  const waits: number[] = []
  const noted = (task: () => void, ms: number) => {
    waits.push(ms)
    return later(task)
  }
  const duty = new Periodic({
    name: 'duty',
    everyMs: 1000,
    firstMs: 10,
    run: async () => {},
    log: silent,
    later: noted,
  })
  duty.start()
  await strike()
  await strike()
  assert.equal(waits, [10, 1000, 1000])
  await duty.close()
})

test.run()
