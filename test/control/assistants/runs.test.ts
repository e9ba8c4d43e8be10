import * as assert from 'uvu/assert'
import { Runs } from '../../../control/assistants/runs.ts'
import type { Stage } from '../../../control/assistants/stage.ts'
import { suite } from '../../harness.ts'

const test = suite('control/assistants/runs')

/** A stage of which only its end counts. */
const stageOf = (): Stage & { stopped: Promise<void> } => {
  let stop = (): void => {}
  const stopped = new Promise<void>(resolve => {
    stop = resolve
  })
  return { stopped, isRinging: false, stop: () => stop(), wake: () => {} } as unknown as Stage & {
    stopped: Promise<void>
  }
}

test('a call is led by one run at a time, however soon the next is asked for', async () => {
  const runs = new Runs()
  const led: string[] = []
  const begin = (name: string) => {
    const stage = stageOf()
    const lead = async () => {
      led.push(`${name} begins`)
      await stage.stopped
      led.push(`${name} ends`)
    }
    return runs.begin('call_1', async () => stage, lead)
  }
  const first = begin('first')
  const second = begin('second')
  await first
  while (led.length === 0) await new Promise(setImmediate)
  const third = begin('third')
  await second
  while (led.length < 3) await new Promise(setImmediate)
  assert.is(runs.count, 1)
  await runs.close()
  await third
  assert.equal(led, ['second begins', 'second ends', 'third begins', 'third ends'])
  assert.is(runs.count, 0)
})

test('a run that fails says so to who began it, and keeps the next from nothing', async () => {
  const runs = new Runs()
  const stage = stageOf()
  const fails = async (): Promise<never> => {
    throw new Error('no')
  }
  const failing = runs.begin('call_1', fails, fails)
  const next = runs.begin(
    'call_1',
    async () => stage,
    async () => stage.stopped,
  )
  // It was stopped before it began, so it does not exist.
  await failing
  const other = runs.begin('call_2', fails, fails)
  assert.is(await other.catch((error: Error) => error.message), 'no')
  assert.is(runs.count, 1)
  await runs.close()
  await next
})

test.run()
