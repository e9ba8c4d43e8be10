import * as assert from 'uvu/assert'
import { seeded } from '../../bench/seeded.ts'
import { DtmfDetector } from '../../codecs/detectors/dtmf-detector.ts'
import { DELAY_FRAMES, DtmfMask } from '../../codecs/dtmf-mask.ts'
import { PCMA } from '../../codecs/g711.ts'
import { goertzelCoefficient, goertzelPower } from '../../codecs/goertzel.ts'
import { DTMF_FREQUENCIES, type DtmfKey } from '../../codecs/tones.ts'
import { suite } from '../harness.ts'
import { addKey, addSpeechNoise, amplitudeOf, framesOf, KEYS, PROMPTS, prompt, toPcm } from './signals.ts'

const test = suite('codecs/dtmf-mask')

const DELAY = DELAY_FRAMES * 160

/** The output of a fresh mask, brought back in time with its input. */
function masked(input: Int16Array, mask = new DtmfMask()): Int16Array {
  const padded = new Int16Array(input.length + DELAY)
  padded.set(input)
  const out = new Int16Array(padded.length)
  let at = 0
  for (const frame of framesOf(padded)) {
    mask.process(frame, frame)
    out.set(frame, at)
    at += 160
  }
  return out.slice(DELAY)
}

const keysIn = (samples: Int16Array): DtmfKey[] => {
  const detector = new DtmfDetector()
  const keys: DtmfKey[] = []
  for (const frame of framesOf(samples)) {
    detector.write(frame)
    if (detector.began !== null) keys.push(detector.began)
  }
  return keys
}

/** The first sample of the stretch that is not zero, or -1. */
const leakIn = (samples: Int16Array, from: number, to: number): number => {
  for (let i = Math.max(0, from); i < Math.min(samples.length, to); i++) if (samples[i] !== 0) return i - from
  return -1
}

/**
 * Largest amplitude of the key's two frequencies in any 10 ms of `out`, against their amplitude in the tone [dB].
 * `out` here is the tone alone, without the noise, let through where the mask let anything through.
 */
function residueDb(tone: Int16Array, out: Int16Array, key: DtmfKey): number {
  const through = tone.map((sample, i) => (out[i] === 0 ? 0 : sample))
  const coefficients = DTMF_FREQUENCIES[key].map(hz => goertzelCoefficient(hz, 8000))
  const loudest = (samples: Int16Array): number => {
    let max = 0
    for (let at = 0; at + 80 <= samples.length; at += 20) {
      for (const c of coefficients) max = Math.max(max, goertzelPower(samples, c, at, at + 80))
    }
    return max
  }
  return 10 * Math.log10((loudest(through) + 1e-9) / loudest(tone))
}

test(
  'every key of 20 to 500 ms, at any phase, level and twist, is zero from its first sample to its last',
  () => {
    const random = seeded(1)
    const pick = (from: number, to: number): number => from + random() * (to - from)
    for (const key of KEYS) {
      for (const ms of [20, 25, 30, 40, 45, 50, 65, 80, 100, 150, 250, 500]) {
        for (const dbm0 of [0, -6, -15, -25, -36, -40]) {
          const from = Math.round(pick(900, 1400))
          const signal = new Float64Array(from + ms * 8 + 1200)
          const twistDb = pick(-8, 4)
          const phases = [pick(0, 2 * Math.PI), pick(0, 2 * Math.PI)] as const
          const factors = { lowFactor: pick(0.982, 1.018), highFactor: pick(0.982, 1.018) }
          addKey(signal, { key, from, samples: ms * 8, dbm0: dbm0 - Math.max(0, twistDb), twistDb, phases, ...factors })
          const tone = toPcm(signal)
          addSpeechNoise(signal, dbm0 - 12, random)
          const out = masked(toPcm(signal))
          const what = `${key} ${ms} ms ${dbm0} dBm0, twist ${twistDb.toFixed(1)} dB, from ${from}`
          assert.is(leakIn(out, from, from + ms * 8), -1, what)
          assert.ok(residueDb(tone, out, key) < -60, what)
          assert.equal(keysIn(out), [], what)
        }
      }
    }
  },
  { timeoutMs: 60_000 },
)

test('a number dialled fast is all gone, and so it is after A-law', () => {
  const random = seeded(2)
  const number = [...'4929123456781234#'] as DtmfKey[]
  for (const [onMs, offMs] of [
    [40, 40],
    [50, 23],
    [20, 20],
    [100, 100],
    [65, 500],
  ] as const) {
    const signal = new Float64Array(1600 + number.length * (onMs + offMs) * 8 + 1600)
    for (const [n, key] of number.entries()) {
      addKey(signal, { key, from: 1600 + n * (onMs + offMs) * 8, samples: onMs * 8 })
    }
    addSpeechNoise(signal, -30, random)
    const clean = toPcm(signal)
    const codes = new Uint8Array(clean.length)
    const companded = new Int16Array(clean.length)
    PCMA.encode(clean, codes)
    PCMA.decode(codes, companded)
    for (const input of [clean, companded]) {
      const out = masked(input)
      number.forEach((_, n) => {
        const from = 1600 + n * (onMs + offMs) * 8
        assert.is(leakIn(out, from, from + onMs * 8), -1, `key ${n} of ${onMs}/${offMs} ms`)
      })
      assert.equal(keysIn(out), [])
    }
  }
})

test('a key whose second tone comes 20 ms late, or never, is zero from the first tone on', () => {
  for (const key of KEYS) {
    for (const lateMs of [5, 10, 20, 60]) {
      for (const first of [0, 1] as const) {
        const signal = new Float64Array(6400)
        const [early, late] = [DTMF_FREQUENCIES[key][first], DTMF_FREQUENCIES[key][1 - first]!]
        for (let i = 0; i < 60 * 8; i++) {
          signal[2000 + i] = 4000 * Math.sin((2 * Math.PI * early * i) / 8000)
          if (i >= lateMs * 8) signal[2000 + i]! += 4000 * Math.sin((2 * Math.PI * late * i) / 8000)
        }
        addSpeechNoise(signal, -35, seeded(3))
        assert.is(leakIn(masked(toPcm(signal)), 2000, 2480), -1, `${key}, ${lateMs} ms, sine ${first} first`)
      }
    }
  }
})

test('a key that swells and fades over 15 ms at each end is zero throughout', () => {
  for (const key of KEYS) {
    const signal = new Float64Array(6400)
    addKey(signal, { key, from: 2000, samples: 640 })
    for (let i = 0; i < 120; i++) {
      signal[2000 + i]! *= i / 120
      signal[2639 - i]! *= i / 120
    }
    addSpeechNoise(signal, -40, seeded(4))
    assert.is(leakIn(masked(toPcm(signal)), 2000, 2640), -1, key)
  }
})

test('a key that already sounds when the mask starts is zero from the first frame, and present until its end', () => {
  const signal = new Float64Array(6400)
  addKey(signal, { key: '5', from: 0, samples: 3300 })
  addSpeechNoise(signal, -35, seeded(5))
  const mask = new DtmfMask()
  const input = toPcm(signal)
  for (let at = 0; at < input.length; at += 160) {
    const frame = input.slice(at, at + 160)
    mask.process(frame, frame)
    if (at <= 3300 + DELAY)
      assert.ok(
        frame.every(sample => sample === 0),
        `frame at ${at}`,
      )
    if (at + 160 > 120 && at < 3300 + DELAY) assert.ok(mask.tonePresent, `present at ${at}`)
  }
  assert.not(mask.tonePresent)
})

test('once no tone is present, what the mask still holds comes out bit exact', () => {
  for (let ms = 40; ms < 60; ms++) {
    const signal = new Float64Array(6400)
    addKey(signal, { key: '3', from: 1600, samples: ms * 8 })
    for (let i = 0; i < signal.length; i++) signal[i]! += 60 * Math.cos((2 * Math.PI * 2500 * i) / 8000)
    const input = toPcm(signal)
    const mask = new DtmfMask()
    const frame = new Int16Array(160)
    let over = false
    for (let at = 0; at < input.length; at += 160) {
      mask.process(input.subarray(at, at + 160), frame)
      if (over) assert.equal(frame, input.slice(at - DELAY, at - DELAY + 160), `${ms} ms, frame at ${at}`)
      if (at >= 1920) over ||= !mask.tonePresent
    }
    assert.ok(over)
  }
})

test('a key sent over a line that drops a frame in the middle of it is zero on both sides of the hole', () => {
  const signal = new Float64Array(6400)
  addKey(signal, { key: '8', from: 2000, samples: 1600 })
  signal.fill(0, 2560, 2720)
  addSpeechNoise(signal, -35, seeded(6))
  assert.is(leakIn(masked(toPcm(signal)), 2000, 3600), -1)
})

test('a key pressed while its owner speaks as loudly is zero throughout', () => {
  const random = seeded(8)
  for (const name of PROMPTS) {
    const speech = prompt(name)
    for (const key of KEYS) {
      for (const ms of [20, 60, 200]) {
        const from = Math.floor(random() * (speech.length - ms * 8))
        const signal = Float64Array.from(speech)
        // The prompts have -17 dBov, which is -14 dBm0.
        addKey(signal, { key, from, samples: ms * 8, dbm0: -11, phases: [6 * random(), 6 * random()] })
        assert.is(leakIn(masked(toPcm(signal)), from, from + ms * 8), -1, `${key} ${ms} ms in ${name} from ${from}`)
      }
    }
  }
})

test('a key under noise of its own level is zero throughout', () => {
  const random = seeded(10)
  for (const key of KEYS) {
    for (const ms of [20, 40, 100, 300]) {
      const signal = new Float64Array(1000 + ms * 8 + 1200)
      addKey(signal, { key, from: 1000, samples: ms * 8, phases: [6 * random(), 6 * random()] })
      addSpeechNoise(signal, -7, random)
      assert.is(leakIn(masked(toPcm(signal)), 1000, 1000 + ms * 8), -1, `${key} ${ms} ms`)
    }
  }
})

test('what is not blanked is bit exact, two frames late: so is most of white noise', () => {
  const signal = new Float64Array(16_000)
  const random = seeded(7)
  for (let i = 0; i < signal.length; i++) signal[i] = amplitudeOf(-20) * (2 * random() - 1)
  const input = toPcm(signal)
  const out = masked(input)
  assert.ok(out.every((sample, i) => sample === input[i] || sample === 0))
  const blanked = out.filter((sample, i) => sample === 0 && input[i] !== 0).length
  assert.ok(blanked < 0.25 * input.length, `${blanked} of ${input.length} blanked`)
})

test('a ringing tone and a tone above the keys raise no suspicion', () => {
  for (const hz of [425, 2500]) {
    const mask = new DtmfMask()
    const input = Int16Array.from({ length: 8000 }, (_, i) =>
      Math.round(8000 * Math.sin((2 * Math.PI * hz * i) / 8000)),
    )
    masked(input, mask)
    assert.not(mask.tonePresent)
    assert.equal(masked(input).slice(400, 7600), input.slice(400, 7600))
  }
})

test('of speech, more is heard than blanked', () => {
  let [blanked, spoken] = [0, 0]
  for (const name of PROMPTS) {
    const input = prompt(name)
    const out = masked(input)
    input.forEach((sample, i) => {
      if (Math.abs(sample) < 100) return
      spoken++
      if (out[i] === 0) blanked++
      else assert.is(out[i], sample)
    })
  }
  assert.ok(blanked / spoken < 0.05, `${((100 * blanked) / spoken).toFixed(1)} % blanked`)
})

test.run()
