import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import * as assert from 'uvu/assert'
import { busySeconds } from '../../../media/kernel/busy-time.ts'
import { suite } from '../../harness.ts'

const test = suite('media/kernel/busy-time')

/** CPU that this process has used [s]. */
const worked = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** Several tries, since other processes may use the core too. */
const inOneOf = (tries: number, isTrue: () => boolean): boolean => Array.from({ length: tries }).some(isTrue)

test('a thread that works is busy for as long', () => {
  const [before, workedBefore] = [busySeconds(), worked()]
  while (worked() < workedBefore + 0.3);
  // Threads of V8 beside it have worked for some of that.
  assert.ok(busySeconds() - before > 0.2, `${busySeconds() - before}`)
})

test('a thread that sleeps in a system call is not busy, and neither is it by what another thread does', async () => {
  const other = new Worker('for (;;) {}', { eval: true })
  await once(other, 'online')
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  const isIdle = inOneOf(5, () => {
    const before = busySeconds()
    Atomics.wait(sleeper, 0, 0, 300)
    return busySeconds() - before < 0.15
  })
  await other.terminate()
  assert.ok(isIdle)
})

test.run()
