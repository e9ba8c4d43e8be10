import * as assert from 'uvu/assert'
import { seeded } from '../../bench/seeded.ts'
import { music, singing, whistling } from '../../bench/tones/synth.ts'
import { type FaxTone, FaxTones } from '../../codecs/detectors/fax-tones.ts'
import { PCMU } from '../../codecs/g711.ts'
import { suite } from '../harness.ts'
import { addSpeechNoise, amplitudeOf, framesOf, PROMPTS, prompt, toPcm } from './signals.ts'

const test = suite('codecs/fax-tones')

/** What is heard of a signal, through µ-law. */
function heard(signal: Float64Array | Int16Array): FaxTone[] {
  const samples = signal instanceof Int16Array ? signal : toPcm(signal)
  const codes = new Uint8Array(samples.length)
  const line = new Int16Array(samples.length)
  PCMU.encode(samples, codes)
  PCMU.decode(codes, line)
  const detector = new FaxTones()
  return [...framesOf(line)].flatMap(frame => detector.write(frame) ?? [])
}

interface Tone {
  hz: number
  ms: number
  dbm0?: number
  /** Of V.25 [ms]. */
  reversalMs?: number
  /** Of V.8. */
  isSwinging?: boolean
  from?: number
}

/** A tone with silence around it. */
function signalOf({ hz, ms, dbm0 = -12, reversalMs, isSwinging = false, from = 800 }: Tone): Float64Array {
  const signal = new Float64Array(from + ms * 8 + 8000)
  for (let i = 0; i < ms * 8; i++) {
    const sign = reversalMs !== undefined && Math.floor(i / (8 * reversalMs)) % 2 === 1 ? -1 : 1
    const swing = isSwinging ? 1 + 0.2 * Math.sin((2 * Math.PI * 15 * i) / 8000) : 1
    signal[from + i] = sign * swing * amplitudeOf(dbm0) * Math.sin((2 * Math.PI * hz * i) / 8000)
  }
  return signal
}

test('CNG: half a second of 1100 Hz, give or take 38 Hz and 15 %, at any level and moment, under noise (T.30)', () => {
  const random = seeded(1)
  for (const hz of [1062, 1100, 1138]) {
    for (const ms of [425, 500, 575]) {
      for (const dbm0 of [0, -12, -35]) {
        const signal = signalOf({ hz, ms, dbm0, from: 800 + Math.floor(160 * random()) })
        addSpeechNoise(signal, Math.min(dbm0 - 30, -48), random)
        assert.equal(heard(signal), ['cng'], `${hz} Hz, ${ms} ms, ${dbm0} dBm0`)
      }
    }
  }
})

test('1100 Hz for another time, or another frequency for that time, is none', () => {
  for (const ms of [150, 300, 800, 3000]) assert.equal(heard(signalOf({ hz: 1100, ms })), [], `${ms} ms`)
  for (const hz of [950, 1000, 1200, 1400]) assert.equal(heard(signalOf({ hz, ms: 500 })), [], `${hz} Hz`)
})

test('an answer is a plain tone (T.30), one with phase reversals (V.25), or one that swings besides (V.8)', () => {
  for (const hz of [2085, 2100, 2115]) {
    for (const dbm0 of [-5, -12, -35]) {
      const what = `${hz} Hz, ${dbm0} dBm0`
      assert.equal(heard(signalOf({ hz, ms: 1500, dbm0 })), ['ced'], what)
      assert.equal(heard(signalOf({ hz, ms: 1500, dbm0, reversalMs: 450 })), ['ans'], what)
      assert.equal(heard(signalOf({ hz, ms: 1500, dbm0, reversalMs: 450, isSwinging: true })), ['ansam'], what)
    }
  }
})

test('half a second of 2100 Hz, and a second of 2000 or 2200 Hz, answer nothing', () => {
  assert.equal(heard(signalOf({ hz: 2100, ms: 500 })), [])
  for (const hz of [1800, 2000, 2200]) assert.equal(heard(signalOf({ hz, ms: 3000 })), [], `${hz} Hz`)
})

test('speech, music, song and whistling are no fax', () => {
  for (const name of PROMPTS) assert.equal(heard(prompt(name)), [], name)
  const random = seeded(9)
  for (let round = 0; round < 4; round++) {
    for (const make of [music, singing, whistling]) {
      const made = make(15, random)
      const peak = made.reduce((max, sample) => Math.max(max, Math.abs(sample)), 1e-9)
      assert.equal(heard(made.map(sample => (20_000 / peak) * sample)), [], `${make.name} ${round}`)
    }
  }
})

test.run()
