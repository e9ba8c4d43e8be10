import * as assert from 'uvu/assert'
import { mosOf, ratingOf } from '../../../media/rtp/mos.ts'
import { suite } from '../../harness.ts'

const near = (actual: number, expected: number, by: number): void =>
  assert.ok(Math.abs(actual - expected) <= by, `${actual} instead of ${expected}`)

const test = suite('media/rtp/mos')

test('without delay and loss R is 93.2 and MOS 4.41 (ITU-T G.107 §7.7)', () => {
  near(ratingOf(0, 0), 93.2, 0.01)
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
    const impairment = ratingOf(0, 0) - rating
    near(mosOf(0, (impairment * 25.1) / (95 - impairment)), mos, 0.011)
  })
}

// Calculated by the equations of G.107 §7.4 with a program of its own; G.114 Figure 1 shows the same curve.
for (const [delayMs, rating] of [
  [50, 91.76],
  [100, 90.66],
  [150, 89.54],
  [200, 85.8],
  [300, 72.67],
  [400, 62.25],
] as const) {
  test(`a delay of ${delayMs} ms leaves R = ${rating}: echo at both ends, and the delay itself (ITU-T G.107 §7.4)`, () => {
    near(ratingOf(delayMs, 0), rating, 0.02)
  })
}

test('bursts of loss cost more than random loss', () => {
  near(ratingOf(0, 0) - ratingOf(0, 5), (95 * 5) / 30.1, 1e-9)
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
