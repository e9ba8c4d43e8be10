import * as assert from 'uvu/assert'
import { seeded } from '../../bench/seeded.ts'
import { levelDbov } from '../../codecs/level.ts'
import { PLAYED_FRAMES, PlayedFrames, Plc } from '../../codecs/plc.ts'
import { suite } from '../harness.ts'
import { PROMPTS, prompt } from './signals.ts'

const test = suite('codecs/plc')

/** Plays `samples` frame by frame, losing the frames for which `lost` says so. */
function play(samples: Int16Array, lost: (frame: number) => boolean): Int16Array {
  const plc = new Plc()
  const played = new PlayedFrames(160)
  const out = new Int16Array(samples.length - (samples.length % 160))
  for (let n = 0; n * 160 < out.length; n++) {
    played.at = (played.at + 1) % PLAYED_FRAMES
    const frame = played.frames[played.at]!
    frame.set(samples.subarray(n * 160, n * 160 + 160))
    if (lost(n)) {
      frame.fill(12_345)
      plc.conceal(played)
    } else if (plc.isConcealing) plc.good(frame)
    out.set(frame, n * 160)
  }
  return out
}

const sine = (hz: number, samples: number, amplitude = 8000): Int16Array =>
  Int16Array.from({ length: samples }, (_, i) => Math.round(amplitude * Math.sin((2 * Math.PI * hz * i) / 8000)))

const largestStep = (samples: Int16Array): number => {
  let max = 0
  for (let i = 1; i < samples.length; i++) max = Math.max(max, Math.abs(samples[i]! - samples[i - 1]!))
  return max
}

test('without a loss every frame passes bit exact', () => {
  const random = seeded(1)
  const noise = Int16Array.from({ length: 16_000 }, () => Math.floor(65_536 * random()) - 32_768)
  assert.equal(
    play(noise, () => false),
    noise,
  )
})

test('after a loss only the first 10 ms of the next frame are changed, then all is bit exact again', () => {
  const speech = prompt('announcement')
  const out = play(speech, n => n === 30 || n === 31)
  assert.equal(out.slice(0, 4800), speech.slice(0, 4800))
  assert.not.equal(out.slice(5120, 5200), speech.slice(5120, 5200))
  assert.equal(out.slice(5200), speech.slice(5200, out.length))
})

test('a lost frame of a voiced tone is replaced by its own period, in phase', () => {
  for (const hz of [100, 125, 160, 200, 400]) {
    const tone = sine(hz, 8000)
    const out = play(tone, n => n === 20)
    for (let i = 3200; i < 3280; i++) assert.ok(Math.abs(out[i]! - tone[i]!) < 200, `${hz} Hz, sample ${i - 3200}`)
    assert.ok(largestStep(out) < 1.2 * largestStep(tone), `${hz} Hz: step ${largestStep(out)}`)
  }
})

test('the joints of a loss are no clicks, however long it lasts and whatever the pitch', () => {
  for (let hz = 70; hz < 400; hz += 13) {
    for (const frames of [1, 2, 3, 5]) {
      const tone = sine(hz, 8000)
      const out = play(tone, n => n >= 20 && n < 20 + frames)
      const allowed = 2.5 * largestStep(tone) + 120
      assert.ok(largestStep(out) < allowed, `${hz} Hz, ${frames} frames: ${largestStep(out)} over ${allowed}`)
    }
  }
})

test('a signal that does not repeat has no clicks either: not at the joints, nor where periods meet', () => {
  const random = seeded(4)
  let worst = 0
  for (let round = 0; round < 60; round++) {
    const parts = Array.from({ length: 5 }, () => [80 + 320 * random(), 7 * random()] as const)
    const smooth = Int16Array.from({ length: 8000 }, (_, i) =>
      Math.round(parts.reduce((sum, [hz, phase]) => sum + 2000 * Math.sin((2 * Math.PI * hz * i) / 8000 + phase), 0)),
    )
    const out = play(smooth, n => n >= 20 && n < 23)
    worst = Math.max(worst, largestStep(out) / largestStep(smooth))
  }
  assert.ok(worst < 1.25, `${worst.toFixed(2)} times the largest step of the signal`)
})

test('a loss in a consonant is no thud: nothing deep is in what stands in its place', () => {
  // The noise of an s, above 2 kHz.
  const random = seeded(6)
  const air = Float64Array.from({ length: 40_000 }, () => random() - 0.5)
  const consonant = Int16Array.from(air, (_, i) =>
    Math.round(3000 * [1, -4, 6, -4, 1].reduce((sum, share, back) => sum + share * (air[i - back] ?? 0), 0)),
  )
  /** The loudest millisecond of what is below 1 kHz. */
  const deepest = (samples: Int16Array): number => {
    let most = 0
    for (let i = 8; i < samples.length; i++)
      most = Math.max(most, Math.abs(samples.subarray(i - 8, i).reduce((sum, sample) => sum + sample, 0) / 8))
    return most
  }
  const out = play(consonant, n => n % 5 === 4)
  assert.ok(deepest(out) < 2 * deepest(consonant), `${deepest(out)} of ${deepest(consonant)}`)
})

test('the repetition keeps its level for 10 ms, falls, and is silence after 60 ms (G.711 Appendix I)', () => {
  const out = play(sine(200, 8000), n => n >= 20)
  const level = (fromMs: number, toMs: number): number => levelDbov(out.subarray(3200 + fromMs * 8, 3200 + toMs * 8))
  const full = levelDbov(sine(200, 80))
  assert.ok(Math.abs(level(0, 10) - full) < 0.5)
  assert.ok(level(20, 30) < full - 1 && level(20, 30) > full - 6)
  assert.ok(level(50, 60) < full - 14)
  assert.ok(out.subarray(3200 + 480).every(sample => sample === 0))
})

test('of speech with 5 % of its frames lost, the concealed part is nearer to what was said than silence is', () => {
  const random = seeded(2)
  let [error, energy] = [0, 0]
  for (const name of PROMPTS) {
    const speech = prompt(name)
    let last = -2
    const out = play(speech, n => {
      if (n < 3 || n - last < 2 || random() > 0.2) return false
      last = n
      return true
    })
    for (let i = 0; i < out.length; i++) {
      if (out[i] === speech[i]) continue
      error += (out[i]! - speech[i]!) ** 2
      energy += speech[i]! ** 2
    }
  }
  assert.ok(error < 0.8 * energy, `${((100 * error) / energy).toFixed(0)} % of the energy`)
})

test('a stream that begins with a loss is silent, not noise', () => {
  assert.ok(
    play(sine(200, 1600), n => n < 4)
      .subarray(0, 640)
      .every(sample => sample === 0),
  )
})

test('a step at full scale clips instead of wrapping', () => {
  const samples = Int16Array.from({ length: 640 }, (_, i) => (i % 80 < 40 ? 25_000 : -25_000))
  samples.fill(25_000, 460, 480)
  const out = play(samples, n => n === 3)
  assert.is(out[480], 32_767)
  assert.is(out[481], 32_767)
})

test.run()
