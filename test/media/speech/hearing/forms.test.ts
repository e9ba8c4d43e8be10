import * as assert from 'uvu/assert'
import { seededNoise } from '../../../../bench/hearing/noises.ts'
import { accentuated, asTrained, slowed } from '../../../../media/speech/hearing/forms.ts'
import { MODEL_HZ } from '../../../../media/speech/moonshine/moonshine-model.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/speech/hearing/forms')

const MS = MODEL_HZ / 1000

/** A word, of a soft hiss and a vowel that is 20 dB louder, between silences with the line's faint hum. */
function said(beforeMs: number, afterMs: number, gain: number): Float32Array {
  return Float32Array.from({ length: (beforeMs + 500 + afterMs) * MS }, (_, i) => {
    const ms = i / MS - beforeMs
    const sound = ms < 0 || ms >= 500 ? 0 : ms < 100 ? 0.1 * Math.sin(2.1 * i) : Math.sin(0.08 * (i - beforeMs * MS))
    return gain * (sound + 0.0001 * Math.sin(0.02 * i))
  })
}

const peakOf = (samples: Float32Array): number => samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)

test('loud or soft, cut out tightly or with silence around: the same word is shown to the model in the same form', () => {
  const shown = asTrained(said(200, 200, 0.3))
  for (const [beforeMs, afterMs, gain] of [
    [120, 400, 0.3],
    [340, 110, 0.3],
    [200, 200, 0.005],
    [700, 700, 0.05],
  ] as const) {
    const other = asTrained(said(beforeMs, afterMs, gain))
    assert.is(other.length, shown.length, `${beforeMs}, ${afterMs}`)
    assert.ok(Math.abs(peakOf(other) - peakOf(shown)) < 0.02 * peakOf(shown), `${gain}`)
  }
})

test('whoever cuts a word out of a call, at whatever sample, shows the model the same to the sample', () => {
  for (const lineDb of [-66, -50]) {
    const random = seededNoise(11)
    const hiss = 10 ** (lineDb / 20) * Math.sqrt(3)
    const call = said(600, 600, 0.2).map(sample => sample + hiss * random())
    const shown = asTrained(call)
    for (const [from, to] of [
      [0, 1],
      [MS * 7 + 3, 160],
      [MS * 333 + 77, MS * 211 + 5],
      [MS * 400, MS * 390 + 151],
    ] as const) {
      const other = asTrained(call.slice(from, call.length - to))
      assert.is(other.length, shown.length, `${lineDb} dBov, ${from}, ${to}`)
      const most = peakOf(other.map((sample, i) => sample - shown[i]!))
      assert.ok(most < 1e-6, `${lineDb} dBov, ${from}, ${to}: ${most}`)
    }
  }
})

test('a click before a word takes nothing of it', () => {
  const clicked = said(200, 200, 0.01)
  clicked[80 * MS] = 1
  assert.ok(asTrained(clicked).length >= asTrained(said(200, 200, 0.01)).length)
})

test('the soft sound that a word begins with is part of it', () => {
  const shown = asTrained(said(300, 300, 0.02))
  // Silence, what was around the word, and the word with its hiss, which begins and ends somewhere in a window of 10 ms.
  const around = (2 * 120 + 2 * 80) * MS
  assert.ok(shown.length >= around + 500 * MS && shown.length <= around + 510 * MS, `${shown.length / MS} ms`)
})

test('a line that hisses is not taken for the word, nor the word for the line', () => {
  for (const [lineDb, gain] of [
    [-66, 0.02],
    [-50, 0.1],
  ] as const) {
    const random = seededNoise(7)
    const hiss = 10 ** (lineDb / 20) * Math.sqrt(3)
    const noisy = said(300, 300, gain).map(sample => sample + hiss * random())
    const length = asTrained(noisy).length / MS - 2 * 120 - 2 * 80
    assert.ok(length >= 400 && length <= 510, `${lineDb}: ${length} ms`)
  }
  // No louder than the line: all of it may be the word.
  const random = seededNoise(7)
  const drowned = said(300, 300, 0.02).map(sample => sample + 0.03 * random())
  const around = (2 * 120 + 2 * 80) * MS
  assert.ok(asTrained(drowned).length >= drowned.length - 20 * MS + around)
})

test('what is constant is taken out, and nothing is made louder than full scale', () => {
  const offset = said(200, 200, 0.02).map(sample => sample + 0.1)
  const shown = asTrained(offset)
  assert.ok(Math.abs(shown.reduce((sum, sample) => sum + sample, 0) / shown.length) < 0.01)
  const click = said(200, 200, 0.001)
  click[300 * MS] = 1
  assert.is(peakOf(asTrained(click)), 1)
})

test('silence, and what is shorter than a window, stays as it is', () => {
  for (const nothing of [new Float32Array(MODEL_HZ), new Float32Array(0), Float32Array.of(0.5)]) {
    assert.is(asTrained(nothing), nothing)
  }
})

test('slowed: a tone is as loud, longer and deeper by one in twelve', () => {
  const tone = Float32Array.from({ length: MODEL_HZ }, (_, i) => Math.sin((2 * Math.PI * 500 * i) / MODEL_HZ))
  const slow = slowed(tone, 1.08)
  assert.is(slow.length, Math.floor(1.08 * MODEL_HZ))
  assert.ok(slow.every(sample => Number.isFinite(sample)))
  let crossings = 0
  for (let i = 1; i < slow.length; i++) if (slow[i - 1]! < 0 && slow[i]! >= 0) crossings++
  assert.ok(Math.abs(crossings - 500) <= 1, `${crossings} periods`)
  assert.ok(Math.abs(peakOf(slow) - 1) < 0.02)
})

test('accentuated: high tones stand out of deep ones', () => {
  const at = (hz: number) => Float32Array.from({ length: 800 }, (_, i) => Math.sin((2 * Math.PI * hz * i) / MODEL_HZ))
  assert.ok(peakOf(accentuated(at(3000)).subarray(1)) > 1.3 * peakOf(accentuated(at(200)).subarray(1)))
})

test.run()
