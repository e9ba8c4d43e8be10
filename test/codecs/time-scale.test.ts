import * as assert from 'uvu/assert'
import { seeded } from '../../bench/seeded.ts'
import { levelDbov } from '../../codecs/level.ts'
import { type Pace, TimeScale } from '../../codecs/time-scale.ts'
import { suite } from '../harness.ts'
import { PROMPTS, prompt } from './signals.ts'

const FRAME = 160
const test = suite('codecs/time-scale')

/** Plays all of a signal, as fast or as slow as it goes. @returns what was heard */
function play(input: Int16Array, pace: Pace): Int16Array {
  const scale = new TimeScale(FRAME)
  const heard: number[] = []
  const out = new Int16Array(FRAME)
  let at = 0
  const add = (): void => {
    scale.add(input.subarray(at, at + FRAME), at === 0 ? new Int16Array(FRAME) : input.subarray(at - FRAME, at))
    at += FRAME
  }
  while (at + 3 * FRAME <= input.length) {
    while (scale.waiting < (pace === 'faster' ? 2 * FRAME : FRAME)) add()
    scale.take(out, pace, 120)
    heard.push(...out)
  }
  return Int16Array.from(heard)
}

const sine = (hz: number, seconds: number): Int16Array =>
  Int16Array.from({ length: seconds * 8000 }, (_, i) => Math.round(8000 * Math.sin((2 * Math.PI * hz * i) / 8000)))

const largestStep = (samples: Int16Array): number => {
  let max = 0
  for (let i = 1; i < samples.length; i++) max = Math.max(max, Math.abs(samples[i]! - samples[i - 1]!))
  return max
}

const SPEECH = Int16Array.from(PROMPTS.flatMap(name => [...prompt(name)]))

test('at an even pace every sample passes as it is', () => {
  const heard = play(SPEECH, 'even')
  assert.equal(heard, SPEECH.slice(0, heard.length))
})

for (const pace of ['faster', 'slower'] as const) {
  test(`${pace}, a tone keeps its level and has no step that it had not`, () => {
    for (let hz = 100; hz < 3400; hz += 97) {
      const tone = sine(hz, 3)
      const heard = play(tone, pace)
      const ratio = tone.length / heard.length
      assert.ok(pace === 'faster' ? ratio > 1.1 : ratio < 0.9, `${hz} Hz: ${ratio.toFixed(2)} times as fast`)
      assert.ok(largestStep(heard) < 1.12 * largestStep(tone) + 50, `${hz} Hz: ${largestStep(heard)}`)
      for (let from = FRAME; from + FRAME <= heard.length; from += FRAME) {
        const level = levelDbov(heard.subarray(from, from + FRAME)) - levelDbov(tone.subarray(0, 8000))
        assert.ok(Math.abs(level) < 1, `${hz} Hz: ${level.toFixed(1)} dB`)
      }
    }
  })

  test(`${pace}, speech has no click`, () => {
    const heard = play(SPEECH, pace)
    assert.ok(pace === 'faster' ? heard.length < 0.9 * SPEECH.length : heard.length > 1.1 * SPEECH.length)
    assert.ok(largestStep(heard) <= 1.1 * largestStep(SPEECH), `${largestStep(heard)} of ${largestStep(SPEECH)}`)
    assert.ok(Math.abs(levelDbov(heard) - levelDbov(SPEECH)) < 1)
  })

  test(`${pace}, noise keeps its level at every joint`, () => {
    const random = seeded(9)
    const noise = Int16Array.from({ length: 80_000 }, () => Math.round(6000 * (random() + random() - 1)))
    const heard = play(noise, pace)
    assert.ok(pace === 'faster' ? heard.length < 0.95 * noise.length : heard.length > 1.05 * noise.length)
    const levels = Array.from({ length: Math.floor(heard.length / FRAME) }, (_, i) =>
      levelDbov(heard.subarray(i * FRAME, (i + 1) * FRAME)),
    )
    assert.ok(Math.max(...levels) - Math.min(...levels) < 3.5, `${Math.min(...levels)} to ${Math.max(...levels)}`)
  })
}

test('in silence all that is wanted is done at once', () => {
  const scale = new TimeScale(FRAME)
  const [silence, out] = [new Int16Array(FRAME).fill(3), new Int16Array(FRAME)]
  scale.add(silence, silence)
  scale.add(silence, silence)
  scale.take(out, 'faster', FRAME)
  assert.is(scale.waiting, 0)
  scale.add(silence, silence)
  scale.take(out, 'slower', FRAME)
  assert.is(scale.waiting, FRAME)
})

test('what waits when nothing more comes is followed by silence', () => {
  const scale = new TimeScale(FRAME)
  const [frame, out] = [new Int16Array(FRAME).fill(900), new Int16Array(FRAME)]
  scale.add(sine(700, 1).subarray(0, FRAME), frame)
  scale.take(out, 'slower', 100)
  const { waiting } = scale
  scale.drain(out)
  assert.ok(out.subarray(waiting).every(sample => sample === 0))
  assert.is(scale.waiting, 0)
})

test.run()
