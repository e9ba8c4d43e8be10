import * as assert from 'uvu/assert'
import { PlayoutDelay } from '../../../media/rtp/playout-delay.ts'
import { suite } from '../../harness.ts'

/** Seconds of 50 ticks with one packet each, which has this much to spare. */
function quiet(delay: PlayoutDelay, seconds: number, spareMs: number): void {
  for (let tick = 0; tick < seconds * 50; tick++) {
    delay.observe(spareMs)
    delay.tick()
  }
}

const test = suite('media/rtp/playout-delay')

test('it grows by one frame per tick and stops at its bound', () => {
  const delay = new PlayoutDelay(20, 100)
  delay.observe(30)
  const granted: boolean[] = []
  for (let tick = 0; tick < 6; tick++) {
    granted.push(delay.grow(10))
    assert.not(delay.grow(10), 'twice in a tick')
    delay.tick()
  }
  assert.equal(granted, [true, true, true, false, false, false])
  assert.is(delay.smoothedMs, 90)
})

test('it does not grow for a packet that no bounded delay would have saved', () => {
  const delay = new PlayoutDelay(20, 100)
  assert.not(delay.grow(101))
  assert.ok(delay.grow(100))
})

test('a frame is to be left out after a second in which every packet had two frames to spare', () => {
  const delay = new PlayoutDelay(20, 200)
  for (let tick = 0; tick < 49; tick++) {
    delay.observe(45)
    delay.tick()
  }
  assert.not(delay.shrinkDue)
  delay.observe(45)
  delay.tick()
  assert.ok(delay.shrinkDue)
  delay.shrank()
  assert.not(delay.shrinkDue)
  quiet(delay, 10, 40)
  assert.not(delay.shrinkDue, 'one frame less would leave less than one')
})

test('one packet with less to spare spoils its second', () => {
  const delay = new PlayoutDelay(20, 200)
  delay.observe(5)
  quiet(delay, 1, 60)
  assert.not(delay.shrinkDue)
  quiet(delay, 1, 60)
  assert.ok(delay.shrinkDue)
})

test('of a delay beyond 80 ms a frame goes every second', () => {
  const delay = new PlayoutDelay(20, 200)
  quiet(delay, 1, 120)
  assert.ok(delay.shrinkDue)
})

test('a large excess is overdue after a second without a silent frame; a smaller one waits for silence', () => {
  const small = new PlayoutDelay(20, 200)
  quiet(small, 60, 75)
  assert.ok(small.shrinkDue)
  assert.not(small.overdue)
  const large = new PlayoutDelay(20, 200)
  quiet(large, 2, 85)
  assert.not(large.overdue)
  quiet(large, 1, 85)
  assert.ok(large.overdue)
})

test('seconds without packets decide nothing', () => {
  const delay = new PlayoutDelay(20, 200)
  for (let tick = 0; tick < 1_000; tick++) delay.tick()
  assert.not(delay.shrinkDue)
  assert.is(delay.smoothedMs, 0)
})

test.run()
