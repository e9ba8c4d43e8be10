import * as assert from 'uvu/assert'
import { DtmfDetector } from '../../codecs/dtmf-detector.ts'
import { dtmfPlan, renderTone } from '../../codecs/tones.ts'
import { decodeUlaw, encodeUlaw } from '../../codecs/ulaw.ts'
import { suite } from '../harness.ts'
import { addKey, addSpeechNoise, framesOf, KEYS, type KeyTone, PROMPTS, prompt, seeded, toPcm } from './signals.ts'

const test = suite('codecs/dtmf-detector')

/** What a detector reports, as `+5 -5`, through µ-law as on a line. */
function heard(samples: Int16Array): string {
  const codes = new Uint8Array(samples.length)
  const line = new Int16Array(samples.length)
  encodeUlaw(samples, codes)
  decodeUlaw(codes, line)
  const detector = new DtmfDetector()
  const events: string[] = []
  for (const frame of framesOf(line)) {
    detector.write(frame)
    if (detector.ended !== null) events.push(`-${detector.ended}`)
    if (detector.began !== null) events.push(`+${detector.began}`)
  }
  return events.join(' ')
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

test('what is no longer than 22 ms is no key', () => {
  for (const key of KEYS) {
    for (let from = 800; from < 960; from += 13) assert.is(heard(toPcm(withTone({ key, samples: 176 }, from))), '')
  }
})

test('a key with a hole of 5 ms stays one key', () => {
  for (const key of KEYS) {
    for (let at = 1200; at < 1360; at += 11) {
      const signal = withTone({ key, samples: 1600 })
      signal.fill(0, at, at + 40)
      assert.is(heard(toPcm(signal)), `+${key} -${key}`, `${key} hole at ${at}`)
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

test('speech is taken for no key (talk-off)', () => {
  for (const name of PROMPTS) assert.is(heard(prompt(name)), '', name)
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
