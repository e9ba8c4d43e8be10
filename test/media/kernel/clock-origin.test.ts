import { Worker } from 'node:worker_threads'
import * as assert from 'uvu/assert'
import { clockOriginMs } from '../../../media/kernel/clock-origin.ts'
import { suite } from '../../harness.ts'

const test = suite('media/kernel/clock-origin')

/** Tolerance for rounding [ms]. */
const SLACK_MS = 0.001

/** A thread that notes the common clock's time whenever it is its turn; it reads its own clock for the first time for that. */
const NOTING = `
  const origin = clockOriginMs()
  const [turn, times] = [new Int32Array(workerData.turn), new Float64Array(workerData.times)]
  for (let next = 1; ; next += 2) {
    Atomics.wait(turn, 0, next - 1)
    times[0] = origin + performance.now()
    Atomics.store(turn, 0, next + 1)
  }`

test('what a new thread notes between two moments of another lies between them on the common clock', async () => {
  const turn = new SharedArrayBuffer(4)
  const times = new SharedArrayBuffer(8)
  const code = `import { workerData } from 'node:worker_threads'; ${clockOriginMs.toString()} ${NOTING}`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
    workerData: { turn, times },
  })
  try {
    const turns = new Int32Array(turn)
    const origin = clockOriginMs()
    for (let next = 1; next < 200; next += 2) {
      const before = origin + performance.now()
      Atomics.store(turns, 0, next)
      Atomics.notify(turns, 0)
      while (Atomics.load(turns, 0) === next) await new Promise(setImmediate)
      const after = origin + performance.now()
      const noted = new Float64Array(times)[0]!
      assert.ok(noted >= before - SLACK_MS, `${before - noted} ms before it was asked for`)
      assert.ok(noted <= after + SLACK_MS, `${noted - after} ms after it was read`)
    }
  } finally {
    await worker.terminate()
  }
})

test.run()
