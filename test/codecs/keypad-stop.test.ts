import * as assert from 'uvu/assert'
import { seeded } from '../../bench/seeded.ts'
import { DELAY_FRAMES, DtmfMask } from '../../codecs/dtmf-mask.ts'
import { PCMU } from '../../codecs/g711.ts'
import { goertzelCoefficient, goertzelPower } from '../../codecs/goertzel.ts'
import { KeypadStop, STOP_DELAY_FRAMES } from '../../codecs/keypad-stop.ts'
import { DTMF_FREQUENCIES, type DtmfKey } from '../../codecs/tones.ts'
import { suite } from '../harness.ts'
import { addKey, framesOf, PROMPTS, prompt, toPcm } from './signals.ts'

const test = suite('codecs/keypad-stop')

const rms = (samples: Int16Array): number => Math.hypot(...samples) / Math.sqrt(samples.length)
const sine = (hz: number, amplitude = 10_000): Int16Array =>
  Int16Array.from({ length: 4000 }, (_, i) => Math.round(amplitude * Math.sin((2 * Math.PI * hz * i) / 8000)))

/** What it makes of the signal, brought back in time with it. */
function stopped(input: Int16Array): Int16Array {
  const stop = new KeypadStop()
  const padded = new Int16Array(input.length + 320)
  padded.set(input)
  const out = new Int16Array(padded.length)
  let at = 0
  for (const frame of framesOf(padded)) {
    stop.process(frame, frame)
    out.set(frame, at)
    at += 160
  }
  return out.slice(160 * STOP_DELAY_FRAMES, 160 * STOP_DELAY_FRAMES + input.length)
}

test('every frequency of a keypad, 2.5 % to each side, is 55 dB down', () => {
  for (const hz of new Set(Object.values(DTMF_FREQUENCIES).flat())) {
    for (const factor of [0.975, 0.99, 1, 1.01, 1.025]) {
      const level = 20 * Math.log10(rms(stopped(sine(hz * factor)).slice(800, 3200)) / (10_000 / Math.SQRT2))
      assert.ok(level < -55, `${hz * factor} Hz: ${level.toFixed(1)} dB`)
    }
  }
})

test('the rest of a voice passes as it is', () => {
  for (const hz of [100, 200, 300, 450, 600, 1070, 1800, 2200, 2800, 3400]) {
    const level = 20 * Math.log10(rms(stopped(sine(hz)).slice(800, 3200)) / (10_000 / Math.SQRT2))
    assert.ok(Math.abs(level) < 0.5, `${hz} Hz: ${level.toFixed(2)} dB`)
  }
})

test('silence stays silence', () => {
  assert.ok(stopped(new Int16Array(1600)).every(sample => sample === 0))
})

/** What others hear of a leg in a pause, brought back in time. */
function masked(input: Int16Array, codec: 'G.711' | 'linear'): Int16Array {
  const [stop, mask] = [new KeypadStop(), new DtmfMask(STOP_DELAY_FRAMES)]
  const padded = new Int16Array(Math.ceil(input.length / 160) * 160 + 160 * DELAY_FRAMES)
  padded.set(input)
  const out = new Int16Array(padded.length)
  const voice = new Int16Array(160)
  const octets = new Uint8Array(160)
  let at = 0
  for (const frame of framesOf(padded)) {
    stop.process(frame, voice)
    mask.process(frame, frame, false, voice)
    if (codec === 'G.711') {
      PCMU.encode(frame, octets)
      PCMU.decode(octets, frame)
    }
    out.set(frame, at)
    at += 160
  }
  return out.slice(160 * DELAY_FRAMES, 160 * DELAY_FRAMES + input.length)
}

const KEYPAD = [...'0123456789*#'] as DtmfKey[]

/** The key of somebody who knows when one was pressed: whose two frequencies stand out most from those beside them. */
function guess(samples: Int16Array): DtmfKey {
  const n = samples.length
  const window = Float64Array.from(samples, (s, i) => s * (0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / n)))
  const log = (hz: number): number => Math.log(goertzelPower(window, goertzelCoefficient(hz, 8000)) + 1e-3)
  const beside = (2.5 * 8000) / n
  const standsOut = (hz: number): number => log(hz) - (log(hz - beside) + log(hz + beside)) / 2
  const scores = KEYPAD.map(key => DTMF_FREQUENCIES[key].reduce((sum, hz) => sum + standsOut(hz), 0))
  return KEYPAD[scores.indexOf(Math.max(...scores))]!
}

test(
  'of keys 6 to 18 dB below loud speech, who knows when they were pressed guesses as many as by chance',
  () => {
    const random = seeded(5)
    const speech = Int16Array.from(PROMPTS.flatMap(name => [...prompt(name)]))
    const speechDbm0 = -16 + 3.14
    for (const codec of ['G.711', 'linear'] as const) {
      for (const below of [6, 12, 18]) {
        for (const ms of [60, 200]) {
          const signal = Float64Array.from(speech)
          const presses: { key: DtmfKey; from: number }[] = []
          for (let from = 1000; from + ms * 8 < speech.length; from += ms * 8 + 1000 + Math.floor(1000 * random())) {
            if (rms(speech.subarray(from, from + ms * 8)) < 2500) continue
            const key = KEYPAD[Math.floor(12 * random())]!
            const phases = [6 * random(), 6 * random()] as const
            addKey(signal, { key, from, samples: ms * 8, dbm0: speechDbm0 - below, phases })
            presses.push({ key, from })
          }
          const input = toPcm(signal)
          const hits = (heard: Int16Array): number =>
            presses.filter(({ key, from }) => guess(heard.slice(from, from + ms * 8)) === key).length / presses.length
          const what = `${codec}, ${below} dB, ${ms} ms, ${presses.length} keys`
          assert.ok(hits(input) > 0.7, `${what}: the measurement is awake, ${hits(input).toFixed(2)}`)
          assert.ok(hits(masked(input, codec)) < 0.25, `${what}: ${hits(masked(input, codec)).toFixed(2)}`)
        }
      }
    }
  },
  { timeoutMs: 120_000 },
)

test.run()
