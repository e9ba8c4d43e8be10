import alawmulaw from 'alawmulaw'
import * as assert from 'uvu/assert'
import { type G711, g711ByName, g711ByPayloadType, PCMA, PCMU } from '../../codecs/g711.ts'
import { suite } from '../harness.ts'

const test = suite('codecs/g711')

const { alaw, mulaw } = alawmulaw

const ALL_SAMPLES = Int16Array.from({ length: 65_536 }, (_, i) => i - 32_768)
const ALL_CODES = Uint8Array.from({ length: 256 }, (_, i) => i)

const encoded = (law: G711, samples: Int16Array): Uint8Array => {
  const out = new Uint8Array(samples.length)
  law.encode(samples, out)
  return out
}
const decoded = (law: G711, codes: Uint8Array): Int16Array => {
  const out = new Int16Array(codes.length)
  law.decode(codes, out)
  return out
}

// ITU-T G.711 tables 1a and 2a, read off line by line: [first decision value, step, code of the first interval].
const A_LAW_POSITIVE = [
  [2048, 128, 0b1111_0000],
  [1024, 64, 0b1110_0000],
  [512, 32, 0b1101_0000],
  [256, 16, 0b1100_0000],
  [128, 8, 0b1011_0000],
  [64, 4, 0b1010_0000],
  [0, 2, 0b1000_0000],
] as const
const U_LAW_POSITIVE = [
  [4063, 256, 0b1000_1111],
  [2015, 128, 0b1001_1111],
  [991, 64, 0b1010_1111],
  [479, 32, 0b1011_1111],
  [223, 16, 0b1100_1111],
  [95, 8, 0b1101_1111],
  [31, 4, 0b1110_1111],
  [1, 2, 0b1111_1110],
  [0, 1, 0b1111_1111],
] as const

function aLaw(sample: number): number {
  const value = Math.min(Math.abs(sample) / 8, 4095.875)
  const [from, step, first] = A_LAW_POSITIVE.find(([decision]) => value >= decision)!
  const character = first + Math.floor((value - from) / step)
  return (sample < 0 ? character & 0x7f : character) ^ 0x55
}

function uLaw(sample: number): number {
  const value = Math.min(Math.abs(sample) / 4, 8158)
  const [from, step, first] = U_LAW_POSITIVE.find(([decision]) => value >= decision)!
  const character = first - Math.floor((value - from) / step)
  return sample < 0 ? character & 0x7f : character
}

for (const [law, oracle] of [
  [PCMU, uLaw],
  [PCMA, aLaw],
] as const) {
  test(`${law.name}: each of the 65,536 samples gets the character signal of its decision values (G.711 tables)`, () => {
    const codes = encoded(law, ALL_SAMPLES)
    for (let i = 0; i < 65_536; i++) assert.is(codes[i], oracle(ALL_SAMPLES[i]!), `sample ${ALL_SAMPLES[i]}`)
  })

  test(`${law.name}: a decoded code encodes to itself`, () => {
    const again = encoded(law, decoded(law, ALL_CODES))
    const moved = [...ALL_CODES].filter(code => again[code] !== code)
    // µ-law has two zeros, and linear PCM one: negative zero comes back as the positive one.
    assert.equal(moved, law === PCMU ? [0x7f] : [])
    if (law === PCMU) assert.is(again[0x7f], 0xff)
  })

  test(`${law.name}: no other level is nearer by more than the half step that segment edges allow`, () => {
    const levels = [...decoded(law, ALL_CODES)]
    const back = decoded(law, encoded(law, ALL_SAMPLES))
    for (let i = 0; i < 65_536; i += 7) {
      const sample = ALL_SAMPLES[i]!
      const nearest = Math.min(...levels.map(level => Math.abs(level - sample)))
      const chosen = Math.abs(back[i]! - sample)
      assert.ok(chosen <= Math.max(nearest * 2, 16), `sample ${sample}: ${chosen} against ${nearest}`)
    }
  })

  test(`${law.name}: the silence octet decodes to the smallest level`, () => {
    const smallest = Math.min(...[...decoded(law, ALL_CODES)].map(Math.abs))
    assert.is(decoded(law, Uint8Array.of(law.silence))[0], smallest)
    assert.is(encoded(law, Int16Array.of(0))[0], law.silence)
  })
}

test('alawmulaw decodes all 256 codes of both laws as we do, and encodes all 65,536 samples as we do', () => {
  assert.equal(decoded(PCMU, ALL_CODES), mulaw.decode(ALL_CODES))
  assert.equal(decoded(PCMA, ALL_CODES), alaw.decode(ALL_CODES))
  assert.equal(encoded(PCMU, ALL_SAMPLES), mulaw.encode(ALL_SAMPLES))
  assert.equal(encoded(PCMA, ALL_SAMPLES), alaw.encode(ALL_SAMPLES))
})

test('a law is found by its encoding name without regard to case (RFC 4855 §3) and by its static payload type', () => {
  assert.is(g711ByName('pcmu'), PCMU)
  assert.is(g711ByName('PCMA'), PCMA)
  assert.is(g711ByName('opus'), undefined)
  assert.is(g711ByPayloadType(0), PCMU)
  assert.is(g711ByPayloadType(8), PCMA)
  assert.is(g711ByPayloadType(9), undefined)
})

test.run()
