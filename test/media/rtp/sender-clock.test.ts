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

/** Audio until 5 s, and from then on later by so much; round trips are measured every 5 s from then on. @returns the clock at 30 s */
function laterBy(ms: number, roundTripMs: number | null, until = 30_000): SenderClock {
  const clock = heardFor(5000, () => FAST_MS)
  for (let at = 5000; at < until; at += 20) {
    clock.observe(timestampAt(at), at + FAST_MS + ms)
    if (roundTripMs !== null && at % 5000 === 0) clock.travels(roundTripMs)
  }
  return clock
}

test('a sender that stood still is told from a slow network by round trips: after ten seconds of audio that is later than they take, it has stood still', () => {
  const behind = (clock: SenderClock, at = 30_000): number =>
    at + 3000 + FAST_MS - clock.timeOf(timestampAt(at), at + 3000 + FAST_MS)
  assert.ok(behind(laterBy(3000, 80)) < 1, 'packets take 80 ms at most')
  assert.ok(behind(laterBy(3000, 80, 14_000), 14_000) > 2900, 'not at once')
  assert.ok(behind(laterBy(3000, null)) > 2900, 'no round trip was measured')
  assert.ok(behind(laterBy(3000, 3100)) > 2900, 'the network holds everything back')
})

test('one round trip of many that is too short tells nothing, nor does one from before the audio was late, or from beside a gap', () => {
  const clock = heardFor(5000, () => FAST_MS)
  for (let at = 5000; at < 40_000; at += 20) {
    clock.observe(timestampAt(at), at + 3000)
    if (at % 5000 === 0) clock.travels(at === 15_000 ? 10 : 3200)
  }
  assert.ok(43_000 - clock.timeOf(timestampAt(40_000), 43_000) > 2900)
  const paused = heardFor(5000, () => FAST_MS)
  paused.travels(80)
  paused.travels(80)
  for (let at = 5000; at < 40_000; at += 20) {
    // It is silent for two seconds of every eight.
    if (at % 8000 >= 2000) paused.observe(timestampAt(at), at + 3000)
    if (at % 8000 === 2000) paused.travels(80)
  }
  assert.ok(43_000 - paused.timeOf(timestampAt(40_000), 43_000) > 2900)
})

test('a packet may have been on its way for as long as a round trip takes, by the slower one of the last two', () => {
  const clock = heardFor(5000, () => FAST_MS)
  const early = (): number => clock.timeOf(timestampAt(4900), 5500) - clock.earliestOf(timestampAt(4900), 5500)
  assert.is(early(), 0, 'none was measured')
  clock.travels(300)
  assert.is(early(), 300)
  clock.travels(60)
  assert.is(early(), 300)
  clock.travels(80)
  assert.is(early(), 80)
})

test.run()
