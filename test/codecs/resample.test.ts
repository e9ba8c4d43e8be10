import * as assert from 'uvu/assert'
import { createResampler, loadResampler, type Resampler, resampleAll } from '../../codecs/resample.ts'
import { suite } from '../harness.ts'

const test = suite('codecs/resample')

const tone = (hz: number, rateHz: number, samples: number, amplitude = 16_000): Int16Array =>
  Int16Array.from({ length: samples }, (_, i) => Math.round(amplitude * Math.sin((2 * Math.PI * hz * i) / rateHz)))

/** Feeds whole 20 ms frames and checks that each gives a whole 20 ms frame. */
function byFrames(resampler: Resampler, samples: Int16Array): Int16Array {
  const [from, to] = [resampler.fromHz / 50, resampler.toHz / 50]
  const out = new Int16Array(Math.floor(samples.length / from) * to)
  for (let n = 0; n * to < out.length; n++) {
    const frame = resampler.process(samples.subarray(n * from, (n + 1) * from))
    assert.is(frame.length, to, `frame ${n}`)
    out.set(frame, n * to)
  }
  return out
}

/** Ratio of the best fitting sine at `hz` to what is left [dB], and its amplitude. */
function fit(samples: Int16Array, hz: number, rateHz: number): { snrDb: number; amplitude: number } {
  let [re, im] = [0, 0]
  const w = (2 * Math.PI * hz) / rateHz
  samples.forEach((s, i) => {
    re += s * Math.cos(w * i)
    im += s * Math.sin(w * i)
  })
  const [a, b] = [(2 * re) / samples.length, (2 * im) / samples.length]
  const rest = samples.reduce((sum, s, i) => sum + (s - a * Math.cos(w * i) - b * Math.sin(w * i)) ** 2, 0)
  const amplitude = Math.hypot(a, b)
  return { snrDb: 10 * Math.log10((amplitude ** 2 / 2) * (samples.length / rest)), amplitude }
}

for (const [fromHz, toHz] of [
  [8000, 16_000],
  [16_000, 8000],
  [8000, 24_000],
  [44_100, 8000],
] as const) {
  test(`a 1 kHz tone fed frame by frame from ${fromHz} to ${toHz} Hz stays one sine, 80 dB above all else`, async () => {
    const resampler = await createResampler(fromHz, toHz)
    const out = byFrames(resampler, tone(1000, fromHz, fromHz))
    const { snrDb, amplitude } = fit(out.subarray(toHz / 10), 1000, toHz)
    assert.ok(snrDb > 80, `${snrDb} dB`)
    assert.ok(Math.abs(amplitude - 16_000) < 16, `${amplitude}`)
    resampler.close()
  })
}

test('a tone above the new Nyquist frequency is suppressed by more than 80 dB (16 to 8 kHz)', async () => {
  const resampler = await createResampler(16_000, 8000)
  const out = byFrames(resampler, tone(5000, 16_000, 16_000, 32_000)).subarray(800)
  assert.ok(out.every(sample => Math.abs(sample) <= 2))
  resampler.close()
})

for (const [fromHz, toHz, latency] of [
  [8000, 16_000, 128],
  [16_000, 8000, 64],
] as const) {
  test(`an impulse comes out ${latency} samples late, wherever it stands in a frame (${fromHz} to ${toHz} Hz)`, async () => {
    const create = await loadResampler()
    for (const at of [0, 1, 2, 100, fromHz / 50 - 2, 3 * (fromHz / 50) + 38]) {
      const even = at - (at % 2)
      const resampler = create(fromHz, toHz)
      assert.is(resampler.latencySamples, latency)
      const input = new Int16Array(fromHz / 5)
      input[even] = 20_000
      const out = byFrames(resampler, input)
      const peak = out.indexOf(out.reduce((max, s) => (Math.abs(s) > Math.abs(max) ? s : max), 0))
      assert.is(peak, (even * toHz) / fromHz + latency, `impulse at ${even}`)
      resampler.close()
    }
  })
}

test('the streams of one thread do not disturb each other, also while the memory grows', async () => {
  const create = await loadResampler()
  const alone = byFrames(create(8000, 16_000), tone(440, 8000, 8000))
  const stream = create(8000, 16_000)
  const input = tone(440, 8000, 8000)
  const others: Resampler[] = []
  for (let n = 0; n < 50; n++) {
    const frame = stream.process(input.subarray(n * 160, n * 160 + 160))
    for (let k = 0; k < 40; k++) {
      const other = create(48_000, 8000)
      other.process(tone(300 + k, 48_000, 960))
      others.push(other)
    }
    assert.equal(frame, alone.subarray(n * 320, n * 320 + 320), `frame ${n}`)
  }
  for (const other of [stream, ...others]) other.close()
})

test('the result of a call is one buffer, used again', async () => {
  const resampler = await createResampler(8000, 16_000)
  const first = resampler.process(new Int16Array(160))
  assert.is(resampler.process(new Int16Array(160)), first)
  resampler.close()
})

test('a closed resampler gives nothing, and closing twice is harmless', async () => {
  const resampler = await createResampler(8000, 16_000)
  resampler.close()
  resampler.close()
  assert.is(resampler.process(new Int16Array(160)).length, 0)
})

test('equal rates pass the samples through', async () => {
  const samples = tone(300, 8000, 160)
  assert.is((await createResampler(8000, 8000)).process(samples), samples)
})

test('an impossible rate is a RangeError', async () => {
  const create = await loadResampler()
  for (const rate of [0, -1, 0.5, Number.NaN, 1e9]) assert.throws(() => create(rate, 8000), /cannot resample/)
})

test('a whole recording comes out in time and at its exact length', async () => {
  const out = await resampleAll(tone(1000, 44_100, 44_100), 44_100, 16_000)
  assert.is(out.length, 16_000)
  // The latency is a whole number of output samples only where the rates divide each other.
  const HALF_A_SAMPLE = 3200
  const wanted = tone(1000, 16_000, 16_000)
  for (let i = 400; i < 15_600; i++) assert.ok(Math.abs(out[i]! - wanted[i]!) < HALF_A_SAMPLE, `sample ${i}`)
})

test.run()
