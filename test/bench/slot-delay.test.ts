import * as assert from 'uvu/assert'
import { SlotDelay } from '../../bench/load/slot-delay.ts'
import { suite } from '../harness.ts'

const test = suite('bench/slot-delay')
/** The grid of the product's slots is anywhere [ms]. */
const GRID = 1003.7
const FRAMES = 500
const around = (value: number, expected: number): boolean => Math.abs(value - expected) < 0.06

test('a frame is late by what it comes after its slot, wherever the slots are and whichever a stream has', () => {
  const delay = new SlotDelay()
  // Of the streams of a slot each comes 0.4 ms after the one before it, and one frame in ten 3 ms later.
  for (let stream = 0; stream < 8; stream++) {
    const slot = stream % 4
    const order = 0.4 * Math.floor(stream / 4)
    for (let frame = 0; frame < FRAMES; frame++) {
      const late = frame % 10 === 9 ? 3 : 0
      delay.add(stream, 20 * frame, GRID + 5 * slot + 20 * frame + order + late)
    }
  }
  const { count, p50, p99, max } = delay.percentiles()!
  assert.is(count, 8 * FRAMES)
  assert.ok(p50 < 0.5, `p50 ${p50}`)
  assert.ok(around(p99, 3.4), `p99 ${p99}`)
  assert.ok(around(max, 3.4), `max ${max}`)
})

for (const [what, by] of [
  ['a later', 10],
  ['an earlier', -10],
] as const) {
  test(`a stream whose room moves to ${what} slot is late neither before nor from then on`, () => {
    const delay = new SlotDelay()
    for (let frame = 0; frame < FRAMES; frame++) delay.add(0, 20 * frame, GRID + 20 * frame + (frame < 200 ? 0 : by))
    assert.ok(delay.percentiles()!.max < 0.01)
  })
}

test('frames that are held up for less than a second are late, each by its own wait', () => {
  const delay = new SlotDelay()
  for (let frame = 0; frame < FRAMES; frame++) {
    const heldUp = frame >= 100 && frame < 110 ? 20 * (110 - frame) : 0
    delay.add(0, 20 * frame, GRID + 20 * frame + heldUp)
  }
  assert.ok(around(delay.percentiles()!.max, 200))
})

test('nothing measured is nothing', () => {
  const delay = new SlotDelay()
  delay.add(0, 20, GRID)
  delay.clear()
  assert.is(delay.percentiles(), null)
})

test.run()
