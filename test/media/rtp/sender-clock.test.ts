import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { SenderClock } from '../../../media/rtp/sender-clock.ts'
import { suite } from '../../harness.ts'

const test = suite('media/rtp/sender-clock')

const FAST_MS = 20
/** A sender whose clock starts near the wrap of its timestamps, and packets of 20 ms for five seconds. */
const STARTS_AT = 2 ** 32 - 4000
const timestampAt = (ms: number): number => (STARTS_AT + ms * 8) % 2 ** 32

function heardFor(ms: number, delayOf: (ms: number) => number): SenderClock {
  const clock = new SenderClock()
  for (let at = 0; at < ms; at += 20) clock.observe(timestampAt(at), at + delayOf(at))
  return clock
}

test('what was held up on its way counts by when it was sent, however much packets jitter', () => {
  const random = seeded(3)
  const clock = heardFor(5000, () => FAST_MS + 80 * random())
  for (const delayMs of [20, 100, 290, 900, 4000]) {
    const at = clock.timeOf(timestampAt(4990), 4990 + delayMs)
    assert.ok(Math.abs(at - (4990 + FAST_MS)) < 25, `${delayMs} ms late: ${at}`)
  }
})

test('a stall that ends in a burst moves nothing', () => {
  const clock = heardFor(5000, at => (at > 4600 ? 5000 - at : FAST_MS))
  assert.ok(clock.timeOf(timestampAt(4700), 5300) < 4760)
})

test('a sender that stood still counts as held up from then on: no delay is taken for standing still', () => {
  const clock = heardFor(5000, at => (at > 4600 ? 3000 : FAST_MS))
  assert.ok(Math.abs(clock.timeOf(timestampAt(4900), 7900) - (4900 + FAST_MS)) < 25)
})

test('a clock that runs slower than ours is followed', () => {
  const clock = new SenderClock()
  for (let at = 0; at < 600_000; at += 20) clock.observe(timestampAt(at), at * 1.0002 + FAST_MS)
  const now = 600_000 * 1.0002 + FAST_MS
  assert.ok(now - clock.timeOf(timestampAt(600_000), now) < 5)
})

test('nothing counts as later than now, and what makes no sense as now', () => {
  const clock = heardFor(1000, () => FAST_MS)
  assert.is(clock.timeOf(timestampAt(2000), 1000), 1000)
  assert.is(clock.timeOf((timestampAt(1000) + 2 ** 31) % 2 ** 32, 1000), 1000)
  assert.is(new SenderClock().timeOf(12_345, 700), 700)
  clock.reset()
  assert.is(clock.timeOf(timestampAt(900), 1000), 1000)
})

test('timestamps that start anew are followed at once', () => {
  const clock = heardFor(1000, () => FAST_MS)
  const other = (ms: number): number => (timestampAt(ms) + 8 * 60_000) % 2 ** 32
  for (let at = 1000; at < 2000; at += 20) clock.observe(other(at), at + FAST_MS)
  assert.ok(Math.abs(clock.timeOf(other(1900), 2400) - 1920) < 5)
})

test.run()
