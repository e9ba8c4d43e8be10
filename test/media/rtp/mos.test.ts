import * as assert from 'uvu/assert'
import { mosOf, ratingOf } from '../../../media/rtp/mos.ts'
import { suite } from '../../harness.ts'

const near = (actual: number, expected: number, by: number): void =>
  assert.ok(Math.abs(actual - expected) <= by, `${actual} instead of ${expected}`)

const test = suite('media/rtp/mos')

test('without delay and loss R is 93.2 and MOS 4.41 (ITU-T G.107 §7.7)', () => {
  assert.is(ratingOf(0, 0), 93.2)
  assert.is(mosOf(0, 0), 4.41)
})

for (const [rating, mos] of [
  [90, 4.34],
  [80, 4.03],
  [70, 3.6],
  [60, 3.1],
  [50, 2.58],
] as const) {
  test(`R = ${rating} is MOS ${mos} (ITU-T G.107 Table B.1)`, () => {
    // Random loss that brings R down to the row.
    const impairment = 93.2 - rating
    near(mosOf(0, (impairment * 25.1) / (95 - impairment)), mos, 0.011)
  })
}

test('delay costs nothing up to 100 ms and grows after that', () => {
  assert.is(mosOf(100, 0), 4.41)
  near(93.2 - ratingOf(200, 0), 3.0, 0.2)
  near(93.2 - ratingOf(400, 0), 24.1, 0.5)
})

test('bursts of loss cost more than random loss', () => {
  near(93.2 - ratingOf(0, 5), (95 * 5) / 30.1, 1e-9)
  assert.ok(mosOf(0, 5, 2) < mosOf(0, 5))
})

test('the score stays within 1 and 4.5 for any argument', () => {
  for (const delayMs of [-1, 0, 500, 1e9]) {
    for (const loss of [-5, 0, 50, 100, 200]) {
      const mos = mosOf(delayMs, loss)
      assert.ok(mos >= 1 && mos <= 4.5, `${delayMs} ms, ${loss} %: ${mos}`)
    }
  }
})

test.run()
