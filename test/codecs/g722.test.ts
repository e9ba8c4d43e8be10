import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import { G722Decoder, G722Encoder } from '../../codecs/packets/g722.ts'
import { suite } from '../harness.ts'

const test = suite('codecs/g722')

const RATE_HZ = 16_000

/** Two seconds of 16 kHz that no level and no band is missing of, below what clips: integers alone, so that it is the same everywhere. */
function noises(): Int16Array {
  let seed = 1
  return Int16Array.from({ length: 2 * RATE_HZ }, (_, i) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) | 0
    const loudness = [18, 18, 20, 20, 17, 19][Math.floor(i / 5400)]!
    const square = (i >> 4) & 1 ? 3000 : -3000
    return (seed >> loudness) + (i % 8000 < 4000 ? square : 0)
  })
}

const sine = (hz: number, level: number): Int16Array =>
  Int16Array.from({ length: RATE_HZ }, (_, i) => level * Math.sin((2 * Math.PI * hz * i) / RATE_HZ))

function encode(samples: Int16Array): Uint8Array {
  const octets = new Uint8Array(samples.length / 2)
  new G722Encoder().encode(samples, octets)
  return octets
}

function decode(octets: Uint8Array): Int16Array {
  const samples = new Int16Array(2 * octets.length)
  assert.is(new G722Decoder().decode(octets, 0, octets.length, samples), samples.length)
  return samples
}

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 32)

test('every octet and every sample is what another implementation (libspandsp 0.0.6) makes of the same', () => {
  const octets = encode(noises())
  assert.is(digest(octets), '66db21e3d3b9740d298217460816e702')
  const samples = decode(octets)
  assert.is(digest(new Uint8Array(samples.buffer)), '632f9822f41bacb7b19cfdbc2c7a5dd6')
})

/** How far a tone stands above all else that comes out, after the bands' filters have filled [dB]. */
function distance(sent: Int16Array, heard: Int16Array): number {
  let best = Number.NEGATIVE_INFINITY
  for (let delay = 15; delay < 30; delay++) {
    let [signal, noise] = [0, 0]
    for (let i = 2000; i < sent.length - 100; i++) {
      signal += sent[i]! ** 2
      noise += (heard[i + delay]! - sent[i]!) ** 2
    }
    best = Math.max(best, 10 * Math.log10(signal / noise))
  }
  return best
}

test('tones of both bands come through: speech of up to 7 kHz', () => {
  // The low band has 6 bits for a sample, the high one 2 (G.722 §1.4).
  for (const [hz, least] of [
    [300, 40],
    [1000, 35],
    [3000, 28],
    [6000, 10],
  ] as const) {
    const sent = sine(hz, 8000)
    const measured = distance(sent, decode(encode(sent)))
    assert.ok(measured > least, `${hz} Hz: ${measured} dB`)
  }
})

test('what comes in pieces of any length is the same as what comes at once', () => {
  const sent = noises()
  const whole = encode(sent)
  const encoder = new G722Encoder()
  const decoder = new G722Decoder()
  const octets = new Uint8Array(whole.length)
  const heard = new Int16Array(sent.length)
  for (let at = 0, piece = 0; at < sent.length; piece++) {
    const length = Math.min([320, 2, 160, 640, 44, 1000][piece % 6]!, sent.length - at)
    encoder.encode(sent.subarray(at, at + length), octets, at / 2)
    decoder.decode(octets, at / 2, length / 2, heard.subarray(at))
    at += length
  }
  assert.equal(octets, whole)
  assert.equal(heard, decode(whole))
})

test('octets of anything at all are decoded within the range of samples', () => {
  let seed = 7
  const octets = Uint8Array.from({ length: 20_000 }, () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) | 0
    return seed >>> 24
  })
  const heard = decode(octets)
  assert.ok(heard.includes(32_767) && heard.includes(-32_768), 'it is loud enough to clip')
})

test.run()
