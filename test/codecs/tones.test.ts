import * as assert from 'uvu/assert'
import { goertzelCoefficient, goertzelDbov, goertzelPower } from '../../codecs/goertzel.ts'
import {
  BEEP,
  BUSY,
  createTone,
  DTMF_FREQUENCIES,
  dtmfPlan,
  dtmfTone,
  JOIN_CHIME,
  LEAVE_CHIME,
  RINGBACK,
  renderTone,
  type TonePlan,
} from '../../codecs/tones.ts'
import { suite } from '../harness.ts'
import { KEYS } from './signals.ts'

const test = suite('codecs/tones')

const PLANS: Record<string, TonePlan> = { JOIN_CHIME, LEAVE_CHIME, BEEP, RINGBACK, BUSY, key: dtmfPlan('5', 80, 40) }

const dbovAt = (samples: Int16Array, hz: number, rateHz = 8000): number =>
  goertzelDbov(goertzelPower(samples, goertzelCoefficient(hz, rateHz)), samples.length)

test('a tone pulled frame by frame is the tone rendered at once, whatever the frame', () => {
  for (const [name, plan] of Object.entries(PLANS)) {
    const whole = renderTone(plan, 8000)
    for (const length of [160, 37, 1]) {
      const tone = createTone(plan, 8000)
      const out = new Int16Array(length)
      for (let at = 0; at + length <= whole.length; at += length) {
        assert.ok(tone.pull(out))
        if (!out.every((sample, i) => sample === whole[at + i])) assert.unreachable(`${name}, ${length} at ${at}`)
      }
    }
  }
})

test('each key is its two frequencies of Q.23 and nothing else of them', () => {
  for (const key of KEYS) {
    const samples = dtmfTone(key, 200).subarray(160, 1440)
    const [low, high] = DTMF_FREQUENCIES[key]
    for (const hz of [697, 770, 852, 941, 1209, 1336, 1477, 1633]) {
      const level = dbovAt(samples, hz)
      if (hz === low) assert.ok(Math.abs(level + 17) < 0.2, `${key} ${hz}: ${level}`)
      else if (hz === high) assert.ok(Math.abs(level + 15) < 0.2, `${key} ${hz}: ${level}`)
      else assert.ok(level < -34, `${key} ${hz}: ${level}`)
    }
  }
  assert.is(dtmfTone('x').length, 0)
  assert.is(dtmfTone('toString').length, 0)
})

test('tones begin and end without a click', () => {
  for (const [name, plan] of Object.entries(PLANS)) {
    for (const rateHz of [8000, 16_000]) {
      const samples = renderTone(plan, rateHz)
      let step = Math.abs(samples[0]!)
      for (let i = 1; i <= samples.length; i++) step = Math.max(step, Math.abs((samples[i] ?? 0) - samples[i - 1]!))
      let steepest = 0
      for (const { hz, levelDb } of plan.segments) {
        const slope = hz.reduce((sum, f, n) => {
          const db = (typeof levelDb === 'object' ? levelDb[n] : levelDb) ?? -18
          return sum + 32_767 * 10 ** (db / 20) * 2 * Math.sin((Math.PI * f) / rateHz)
        }, 0)
        steepest = Math.max(steepest, slope)
      }
      assert.ok(step <= steepest * 1.02 + 2, `${name} at ${rateHz}: ${step} over ${steepest}`)
    }
  }
})

test('ringing tone sounds for 1 s of each 5 and busy tone for 0.5 s of each second (E.180), for ever', () => {
  for (const [plan, onMs, offMs] of [
    [RINGBACK, 1000, 4000],
    [BUSY, 500, 500],
  ] as const) {
    const tone = createTone(plan, 8000)
    const frame = new Int16Array(160)
    for (let ms = 0; ms < 4 * (onMs + offMs); ms += 20) {
      assert.ok(tone.pull(frame))
      assert.is(
        frame.some(sample => Math.abs(sample) > 500),
        ms % (onMs + offMs) < onMs,
        `${ms} ms`,
      )
    }
  }
  assert.ok(Math.abs(dbovAt(renderTone(RINGBACK, 8000).subarray(80, 7920), 425) + 21) < 0.2)
})

test('a tone that is over says so and leaves silence', () => {
  const tone = createTone({ segments: [{ hz: [440], ms: 30 }] }, 8000)
  const frame = new Int16Array(160).fill(7)
  assert.ok(tone.pull(frame))
  assert.ok(tone.pull(frame))
  assert.ok(frame.subarray(80).every(sample => sample === 0))
  frame.fill(7)
  assert.not(tone.pull(frame))
  assert.ok(frame.every(sample => sample === 0))
})

test('a plan without sound is over at once, even when it repeats for ever', () => {
  const frame = new Int16Array(160)
  assert.not(createTone({ segments: [], repeat: Number.POSITIVE_INFINITY }, 8000).pull(frame))
  assert.not(createTone({ segments: [{ hz: [440], ms: 0 }], repeat: Number.POSITIVE_INFINITY }, 8000).pull(frame))
})

test('a plan repeats as often as it says, and too loud a mix clips instead of wrapping', () => {
  assert.is(renderTone({ segments: [{ hz: [440], ms: 30 }], repeat: 3 }, 8000).length, 720)
  const loud = renderTone({ segments: [{ hz: [400, 400], ms: 100, levelDb: 0 }] }, 8000)
  assert.is(Math.max(...loud), 32_767)
  assert.is(Math.min(...loud), -32_768)
  for (let i = 1; i < loud.length; i++) assert.ok(Math.abs(loud[i]! - loud[i - 1]!) < 30_000)
})

test('the join chime rises and the leave chime falls', () => {
  const join = renderTone(JOIN_CHIME, 8000)
  const leave = renderTone(LEAVE_CHIME, 8000)
  assert.ok(dbovAt(join.subarray(0, 1000), 587.33) > dbovAt(join.subarray(0, 1000), 880) + 10)
  assert.ok(dbovAt(leave.subarray(0, 1000), 880) > dbovAt(leave.subarray(0, 1000), 587.33) + 10)
})

test.run()
