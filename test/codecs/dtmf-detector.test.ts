import * as assert from 'uvu/assert'
import { seeded } from '../../bench/seeded.ts'
import { heldVowels } from '../../bench/tones/held-vowels.ts'
import { music, singing, whistling } from '../../bench/tones/synth.ts'
import { DtmfDetector } from '../../codecs/detectors/dtmf-detector.ts'
import { PCMU } from '../../codecs/g711.ts'
import { dtmfPlan, renderTone } from '../../codecs/tones.ts'
import { suite } from '../harness.ts'
import { addKey, addSpeechNoise, amplitudeOf, framesOf, KEYS, type KeyTone, PROMPTS, prompt, toPcm } from './signals.ts'

const test = suite('codecs/dtmf-detector')

const TALKS = ['announcement', 'apology', 'consent-before', 'leave-message', 'welcome']

/** What a detector reports, as `+5 -5`, through µ-law as on a line. */
function heard(samples: Int16Array): string {
  const codes = new Uint8Array(samples.length)
  const line = new Int16Array(samples.length)
  PCMU.encode(samples, codes)
  PCMU.decode(codes, line)
  const detector = new DtmfDetector()
  const events: string[] = []
  for (const frame of framesOf(line)) {
    detector.write(frame)
    if (detector.ended !== null) events.push(`-${detector.ended}`)
    if (detector.began !== null) events.push(`+${detector.began}`)
  }
  return events.join(' ')
}

/** As 16 bits, with this loudest sample. */
function atPeak(signal: Float64Array, peak = 20_000): Int16Array {
  const loudest = signal.reduce((max, sample) => Math.max(max, Math.abs(sample)), 1e-9)
  return toPcm(signal.map(sample => (peak / loudest) * sample))
}

/** A signal of one tone with a pause of 100 ms on both sides. */
function withTone(tone: Omit<KeyTone, 'from'>, from = 800): Float64Array {
  const signal = new Float64Array(from + tone.samples + 800)
  addKey(signal, { ...tone, from })
  return signal
}

test('each key of 40 ms is heard once, wherever it starts in a frame (Q.24)', () => {
  for (const key of KEYS) {
    for (let from = 800; from < 960; from += 7) {
      assert.is(heard(toPcm(withTone({ key, samples: 320 }, from))), `+${key} -${key}`, `${key} from ${from}`)
    }
  }
})

test('keys of 40 ms with pauses of 40 ms are heard one by one, equal ones too', () => {
  const number = '1122334455667788990*#ABCD0D'
  for (const shift of [0, 40, 80, 120, 153]) {
    const signal = new Float64Array(1600 + number.length * 640)
    for (const [n, key] of [...number].entries()) {
      addKey(signal, { key: key as (typeof KEYS)[number], from: 400 + shift + n * 640, samples: 320 })
    }
    assert.is(heard(toPcm(signal)), [...number].map(key => `+${key} -${key}`).join(' '), `shifted by ${shift}`)
  }
})

test('frequencies off by 1.5 % are accepted, off by 3.5 % or more refused', () => {
  for (const key of KEYS) {
    for (const off of [-0.015, -0.01, 0.01, 0.015]) {
      const both = withTone({ key, samples: 400, lowFactor: 1 + off, highFactor: 1 - off })
      assert.is(heard(toPcm(both)), `+${key} -${key}`, `${key} ${off}`)
    }
    for (const off of [0.035, 0.04, 0.05]) {
      for (const [lowFactor, highFactor] of [
        [1 + off, 1],
        [1 - off, 1],
        [1, 1 + off],
        [1, 1 - off],
      ] as const) {
        const one = withTone({ key, samples: 800, lowFactor, highFactor })
        // Half a way between two keys is neither of them, and must not be taken for the other.
        assert.is(heard(toPcm(one)), '', `${key} ${lowFactor} ${highFactor}`)
      }
    }
  }
})

test('a high group of +4 to -8 dB over the low one is accepted, of +8 or -12 dB refused', () => {
  for (const key of KEYS) {
    for (const twistDb of [4, 0, -4, -8]) {
      assert.is(heard(toPcm(withTone({ key, samples: 400, twistDb }))), `+${key} -${key}`, `${key} ${twistDb} dB`)
    }
    for (const twistDb of [8, -12]) assert.is(heard(toPcm(withTone({ key, samples: 400, twistDb }))), '')
  }
})

test('levels of 0 to -36 dBm0 are accepted, -48 dBm0 is not', () => {
  for (const key of KEYS) {
    for (const dbm0 of [-3, -10, -20, -30, -36]) {
      assert.is(heard(toPcm(withTone({ key, samples: 400, dbm0 }))), `+${key} -${key}`, `${key} ${dbm0} dBm0`)
    }
    // Both at 0 dBm0 add up to more than 16 bits hold, and clip.
    assert.is(heard(toPcm(withTone({ key, samples: 400, dbm0: 0 }))), `+${key} -${key}`, `${key} 0 dBm0`)
    assert.is(heard(toPcm(withTone({ key, samples: 400, dbm0: -48 }))), '')
  }
})

test('a key is heard under noise 15 dB below it', () => {
  const random = seeded(1)
  for (const key of KEYS) {
    for (let round = 0; round < 10; round++) {
      const signal = withTone({ key, samples: 400, dbm0: -15, phases: [6 * random(), 6 * random()] })
      addSpeechNoise(signal, -27, random)
      assert.is(heard(toPcm(signal)), `+${key} -${key}`)
    }
  }
})

test('all at once: 0 and -25 dBm0, ±1.5 %, +4 to -8 dB, 40 ms on and off, white noise 15 dB below: each key once', () => {
  const random = seeded(24)
  const gauss = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  for (const key of KEYS) {
    for (const dbm0 of [0, -25]) {
      for (const twistDb of [4, 0, -8]) {
        for (const [low, high] of [
          [-0.015, -0.015],
          [-0.015, 0.015],
          [0.015, -0.015],
          [0.015, 0.015],
        ] as const) {
          const from = 800 + Math.floor(160 * random())
          const signal = new Float64Array(from + 3 * 640 + 800)
          const lowDbm0 = dbm0 - Math.max(0, twistDb)
          for (let n = 0; n < 3; n++) {
            const factors = { lowFactor: 1 + low, highFactor: 1 + high }
            const phases = [6.3 * random(), 6.3 * random()] as const
            addKey(signal, { key, from: from + 640 * n, samples: 320, dbm0: lowDbm0, twistDb, phases, ...factors })
          }
          const power = (amplitudeOf(lowDbm0) ** 2 + amplitudeOf(lowDbm0 + twistDb) ** 2) / 2
          const noise = Math.sqrt(power * 10 ** (-15 / 10))
          for (let i = 0; i < signal.length; i++) signal[i]! += noise * gauss()
          const what = `${key} ${dbm0} dBm0 ${twistDb} dB ${low} ${high}`
          assert.is(heard(toPcm(signal)), [1, 2, 3].map(() => `+${key} -${key}`).join(' '), what)
        }
      }
    }
  }
})

test('what is no longer than 23 ms is no key', () => {
  for (const key of KEYS) {
    for (let from = 800; from < 960; from += 13) assert.is(heard(toPcm(withTone({ key, samples: 183 }, from))), '')
  }
})

test('a key with a hole of less than 10 ms stays one key, wherever the hole is', () => {
  for (const key of KEYS) {
    for (const dbm0 of [-10, -25]) {
      for (let at = 1200; at < 1360; at += 11) {
        for (const samples of [40, 79]) {
          const signal = withTone({ key, samples: 1600, dbm0 })
          signal.fill(0, at, at + samples)
          assert.is(heard(toPcm(signal)), `+${key} -${key}`, `${key} hole of ${samples} at ${at}`)
        }
      }
    }
  }
})

test('a single frequency, or a frequency with strong harmonics, is no key', () => {
  for (const hz of [697, 770, 852, 941, 1209, 1336, 1477, 1633]) {
    const sine = Int16Array.from({ length: 4000 }, (_, i) => Math.round(8000 * Math.sin((2 * Math.PI * hz * i) / 8000)))
    assert.is(heard(sine), '')
  }
  const voiced = withTone({ key: '5', samples: 1600 })
  for (let i = 0; i < 1600; i++) voiced[800 + i]! += 4000 * Math.sin((2 * Math.PI * 2672 * i) / 8000)
  assert.is(heard(toPcm(voiced)), '')
})

test('a high note is no key though its octave is near the other frequency, nor is a voice that glides through one', () => {
  const note = new Float64Array(8000)
  for (let i = 0; i < note.length; i++) {
    const phase = (2 * Math.PI * 834 * i) / 8000
    note[i] = 6000 * Math.sin(phase) + 4000 * Math.sin(2 * phase)
  }
  assert.is(heard(toPcm(note)), '', 'soprano')
  const glide = new Float64Array(1200)
  let [low, high] = [0, 0]
  for (let i = 0; i < glide.length; i++) {
    low += (2 * Math.PI * (740 + 0.05 * i)) / 8000
    high += (2 * Math.PI * (1230 + 0.22 * i)) / 8000
    glide[i] = 6000 * Math.sin(low) + 4000 * Math.sin(high)
  }
  assert.is(heard(toPcm(glide)), '', 'glide')
})

test('a steady vowel is no key though two of its harmonics are the pair of one', () => {
  // 4 and 7 times 211.5 Hz are within 1 % of key 9, as in synthetic voices that hold a vowel.
  for (const others of [0.19, 0.21, 0.24]) {
    const vowel = Int16Array.from({ length: 4000 }, (_, i) => {
      const harmonic = (n: number): number => Math.sin((2 * Math.PI * 211.5 * n * i) / 8000 + n * n)
      let sum = harmonic(4) + 0.7 * harmonic(7)
      for (const n of [1, 2, 3, 5, 6, 8, 9, 10]) sum += others * harmonic(n)
      return Math.round(4000 * sum)
    })
    assert.is(heard(vowel), '', `others ${others}`)
  }
})

test('speech in six languages is taken for no key (talk-off)', () => {
  const languages = ['de', 'es', 'fr', 'he', 'it'].flatMap(language => TALKS.map(name => `${language}/${name}`))
  for (const name of [...PROMPTS, ...languages]) assert.is(heard(prompt(name)), '', name)
})

test('music, song and whistling are taken for no key (talk-off)', () => {
  const random = seeded(31)
  for (let round = 0; round < 5; round++) {
    for (const make of [music, singing, whistling]) {
      assert.is(heard(atPeak(make(12, random))), '', `${make.name} ${round}`)
    }
  }
})

test('vowels held at the frequencies of keys are taken for none: their tones were there before (talk-off)', () => {
  // Of 120 such texts these held what has the frequencies, levels and purity of a key.
  for (const seed of [46, 61, 101, 102, 117]) assert.is(heard(atPeak(heldVowels(10, seeded(seed)))), '', `seed ${seed}`)
})

test('a key under whose beginning something else sounds is down as soon as it is alone, so that it is masked, and told when it ends as keys do', () => {
  const alone = 1760
  for (const [fadesDbPerSecond, expected] of [
    [0, '+8 -8'],
    [60, ''],
  ] as const) {
    const signal = withTone({ key: '8', samples: 6400 })
    for (let i = 0; i < alone; i++) signal[i]! += 8000 * Math.sin((2 * Math.PI * 500 * i) / 8000)
    for (let i = alone; i < signal.length; i++) signal[i]! *= 10 ** ((-fadesDbPerSecond * (i - alone)) / 8000 / 20)
    const line = toPcm(signal)
    assert.is(heard(line), expected)
    const detector = new DtmfDetector()
    const down = [...framesOf(line)].findIndex(frame => {
      detector.write(frame)
      return detector.key === '8'
    })
    assert.ok(down * 160 < alone + 400, `down in frame ${down}`)
  }
})

test('the echo of a key is none, and hides no key after it', () => {
  for (const [samples, echoSamples, echoDb] of [
    [400, 280, -15],
    [800, 800, -10],
  ] as const) {
    for (const key of KEYS) {
      const signal = new Float64Array(1600 + 6 * samples + echoSamples)
      for (let n = 0; n < 3; n++) addKey(signal, { key, from: 800 + 2 * n * samples, samples })
      const part = 10 ** (echoDb / 20)
      for (let i = signal.length - 1; i >= echoSamples; i--) signal[i]! += part * signal[i - echoSamples]!
      assert.is(heard(toPcm(signal)), [1, 2, 3].map(() => `+${key} -${key}`).join(' '), `${key} ${echoDb} dB`)
    }
  }
})

test('what the tone generator renders is heard', () => {
  for (const key of KEYS) assert.is(heard(renderTone(dtmfPlan(key, 60, 60), 8000)), `+${key} -${key}`)
})

test('a key that goes on has its state, and its events only once', () => {
  const detector = new DtmfDetector()
  const states: unknown[] = []
  for (const frame of framesOf(toPcm(withTone({ key: '7', samples: 800 })))) {
    detector.write(frame)
    states.push([detector.began, detector.key, detector.ended])
  }
  const began = states.findIndex(state => (state as unknown[])[0] === '7')
  assert.equal(states.slice(began, began + 3), [
    ['7', '7', null],
    [null, '7', null],
    [null, '7', null],
  ])
  assert.is(states.filter(state => (state as unknown[])[2] === '7').length, 1)
  assert.is(detector.key, null)
})

test.run()
