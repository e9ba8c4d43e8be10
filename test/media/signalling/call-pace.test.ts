import { setImmediate } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { CallPace } from '../../../media/signalling/call-pace.ts'
import { suite } from '../../harness.ts'

const test = suite('media/signalling/call-pace')

const trunk = (callsPerSecond: number, id = 'conn_a') => [{ id, callsPerSecond }]

/** A pace with a virtual clock. */
function scene() {
  let now = 0
  let timers: { at: number; run: () => void }[] = []
  const later = (run: () => void, afterMs: number) => void timers.push({ at: now + afterMs, run })
  const pace = new CallPace({ now: () => now, later })
  /** Moves the clock on by milliseconds; `busy`: timers do not run meanwhile. */
  const pass = async (ms: number, busy = false) => {
    await setImmediate()
    for (const end = now + ms; now < end; now++) {
      if (busy) continue
      const due = timers.filter(({ at }) => at <= now)
      timers = timers.filter(({ at }) => at > now)
      for (const { run } of due) run()
      if (due.length > 0) await setImmediate()
    }
    await setImmediate()
  }
  const sent: number[] = []
  const call = (rates: Parameters<CallPace['turn']>[0], isWanted = () => true): Promise<boolean> =>
    pace.turn(rates, isWanted).then(may => {
      if (may) sent.push(now)
      return may
    })
  return { pace, pass, call, sent }
}

function mostInASecond(times: readonly number[]): number {
  return Math.max(...times.map((from, n) => times.slice(n).filter(at => at <= from + 1000).length))
}

test('calls that were apart and come together, since whoever sends them was busy, leave no faster than the connection begins calls', async () => {
  const { pass, call, sent } = scene()
  const calls: Promise<boolean>[] = []
  // 28.4 a second, handed over up to 0.3 s late; and nobody looks at the clock in between.
  for (let n = 0; n < 600; n += 10) {
    for (let i = 0; i < 10; i++) calls.push(call(trunk(30)))
    await pass(250, n % 70 === 0)
    await pass(100)
  }
  await pass(2000)
  assert.ok((await Promise.all(calls)).every(may => may))
  assert.is(sent.length, 600)
  assert.is(mostInASecond(sent), 30)
})

test('connections wait for themselves alone, and a call over none waits for nobody', async () => {
  const { pace, pass, call, sent } = scene()
  for (const id of ['conn_a', 'conn_a', 'conn_b']) void call(trunk(1, id))
  void call([])
  await pass(10)
  assert.is(sent.length, 3)
  assert.equal([pace.waits(trunk(1)), pace.waits(trunk(1, 'conn_d')), pace.waits([])], [true, false, false])
  await pass(1100)
  assert.is(sent.length, 4)
  await pass(1100)
  assert.is(pace.waits(trunk(1)), false)
})

test('who hangs up while it waits takes no turn; who would wait five seconds is told that there is none', async () => {
  const { pass, call, sent } = scene()
  let isWanted = true
  void call(trunk(1))
  const gone = call(trunk(1), () => isWanted)
  const next = call(trunk(1))
  isWanted = false
  await pass(1100)
  assert.equal([await gone, await next, sent.length], [false, true, 2])
  const more = Array.from({ length: 6 }, () => call(trunk(1)))
  assert.is(await more[5], false)
  await pass(6000)
  assert.equal(await Promise.all(more), [true, true, true, true, true, false])
})

test('calls of a campaign leave no faster than it and its connection allow, and those that wait for it hold up nobody else of the connection', async () => {
  const { pace, pass, call, sent } = scene()
  const campaign = [...trunk(30), { id: 'cmp_a', callsPerSecond: 3 }]
  for (let n = 0; n < 10; n++) void call(campaign)
  void call(trunk(30))
  await pass(10)
  assert.is(sent.length, 4)
  assert.equal([pace.waits(campaign), pace.waits(trunk(30, 'conn_b'))], [true, false])
  await pass(4000)
  assert.is(sent.length, 11)
  assert.is(mostInASecond(sent), 4)
  await pass(1100)
  // Over another connection too.
  for (const id of ['conn_a', 'conn_b', 'conn_a', 'conn_b'])
    void call([...trunk(30, id), { id: 'cmp_a', callsPerSecond: 3 }])
  await pass(10)
  assert.is(sent.length, 14)
})

test('a connection that takes more from now on is held to that', async () => {
  const { pass, call, sent } = scene()
  for (let n = 0; n < 4; n++) void call(trunk(2))
  await pass(10)
  assert.is(sent.length, 2)
  for (let n = 0; n < 4; n++) void call(trunk(5))
  await pass(10)
  assert.is(sent.length, 5)
  await pass(1050)
  assert.is(sent.length, 8)
  assert.is(mostInASecond(sent), 5)
})

test.run()
