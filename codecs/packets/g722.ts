import { int32Array } from '../arrays.ts'
import { clamp16 } from '../audio.ts'
import { G722Band } from './g722-band.ts'

/** Samples of one octet. */
const PAIR = 2
const TAPS = 24
/** History of the filters [samples]. */
const KEPT = TAPS - PAIR
/** Samples that are filtered at once: 20 ms. */
const BLOCK = 320

/** The filter that parts the bands and joins them (G.722 §3.1, Table 11): every other tap; the rest are these from behind. */
const FILTER = Int32Array.of(3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11)

/** Thresholds of the quantisers, in units of the step, of 12 binary places. */
const LOW_LEVELS = Int32Array.of(
  ...[35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714],
  ...[786, 858, 940, 1023, 1121, 1219, 1339, 1458, 1612, 1765, 1980, 2195, 2557, 2919],
)
const HIGH_LEVEL = 564

/** Values of a 6-bit code, by its upper four bits and whole, and of a 2-bit code. In units of the step, with 15 binary places. */
const LOW_COARSE = Int32Array.of(
  0,
  -20_456,
  -12_896,
  -8968,
  -6288,
  -4240,
  -2584,
  -1200,
  20_456,
  12_896,
  8968,
  6288,
  4240,
  2584,
  1200,
  0,
)
const LOW_FINE = Int32Array.of(
  ...[-136, -136, -136, -136, -24_808, -21_904, -19_008, -16_704, -14_984, -13_512, -12_280, -11_192, -10_232],
  ...[-9360, -8576, -7856, -7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776, -2400, -2032],
  ...[-1688, -1360, -1040, -728, 24_808, 21_904, 19_008, 16_704, 14_984, 13_512, 12_280, 11_192, 10_232, 9360],
  ...[8576, 7856, 7192, 6576, 6000, 5456, 4944, 4464, 4008, 3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728],
  ...[432, 136, -432, -136],
)
const HIGH = Int32Array.of(-7408, -1616, 7408, 1616)

/** By how much the logarithm of the step grows: by code of the low band's upper four bits, and by code of the high band. */
const MAGNITUDE = [0, 7, 6, 5, 4, 3, 2, 1, 7, 6, 5, 4, 3, 2, 1, 0]
const LOW_GROWTH = [-60, -30, 58, 172, 334, 538, 1198, 3042]
const LOW_RULE = { growth: Int16Array.from(MAGNITUDE, i => LOW_GROWTH[i]!), maxLog: 18_432, octaves: 8, firstStep: 32 }
const HIGH_RULE = { growth: Int16Array.of(798, -214, 798, -214), maxLog: 22_528, octaves: 10, firstStep: 8 }

/** Codes by how many thresholds a difference reaches. */
const lowCode = (reached: number, isNegative: boolean): number => {
  if (isNegative) return reached < 2 ? 63 - reached : 33 - reached
  return 61 - reached
}
const LOW_NEGATIVE = Uint8Array.from({ length: 30 }, (_, reached) => lowCode(reached, true))
const LOW_POSITIVE = Uint8Array.from({ length: 30 }, (_, reached) => lowCode(reached, false))

const saturate14 = (value: number): number => (value > 16_383 ? 16_383 : value < -16_384 ? -16_384 : value)

/** The last samples of a stream and the next, in one row: a filter reads it from any place without wrapping. */
class Line {
  readonly samples = int32Array(KEPT + BLOCK)

  /** The end of the block is what the next begins with. */
  advance(samples: number): void {
    this.samples.copyWithin(0, samples, samples + KEPT)
  }
}

/** Encodes one stream of 16 kHz in 64 kbit/s, an octet for two samples (ITU-T G.722 mode 1). */
export class G722Encoder {
  readonly #low = new G722Band(LOW_RULE)
  readonly #high = new G722Band(HIGH_RULE)
  readonly #line = new Line()

  /** @param src an even number of samples @param dst half as long as `src`, from `at` */
  encode(src: Int16Array, dst: Uint8Array, at = 0): void {
    for (let from = 0; from < src.length; from += BLOCK) {
      const samples = Math.min(BLOCK, src.length - from)
      for (let i = 0; i < samples; i++) this.#line.samples[KEPT + i] = src[from + i]!
      for (let i = 0; i < samples; i += PAIR) dst[at + ((from + i) >> 1)] = this.#pair(i)
      this.#line.advance(samples)
    }
  }

  /** Samples from before the first ones to be encoded: its filter goes on from them. */
  prime(src: Int16Array): void {
    this.#line.samples.set(src.subarray(src.length - KEPT))
  }

  #pair(at: number): number {
    const { samples } = this.#line
    let odd = 0
    let even = 0
    for (let i = 0; i < TAPS / 2; i++) {
      odd += samples[at + 2 * i]! * FILTER[i]!
      even += samples[at + 2 * i + 1]! * FILTER[TAPS / 2 - 1 - i]!
    }
    return (this.#encodeHigh((even - odd) >> 14) << 6) | this.#encodeLow((even + odd) >> 14)
  }

  #encodeLow(sample: number): number {
    const band = this.#low
    const difference = clamp16(sample - band.expected)
    const size = difference >= 0 ? difference : -(difference + 1)
    let reached = 0
    while (reached < LOW_LEVELS.length && size >= (LOW_LEVELS[reached]! * band.step) >> 12) reached++
    const code = difference < 0 ? LOW_NEGATIVE[reached]! : LOW_POSITIVE[reached]!
    // The two least bits may be robbed on the way: both ends follow what the others say.
    const coarse = code >> 2
    band.adapt((band.step * LOW_COARSE[coarse]!) >> 15, coarse)
    return code
  }

  #encodeHigh(sample: number): number {
    const band = this.#high
    const difference = clamp16(sample - band.expected)
    const size = difference >= 0 ? difference : -(difference + 1)
    const isLarge = size >= (HIGH_LEVEL * band.step) >> 12
    const code = difference < 0 ? (isLarge ? 0 : 1) : isLarge ? 2 : 3
    band.adapt((band.step * HIGH[code]!) >> 15, code)
    return code
  }
}

/** Decodes one stream of 64 kbit/s to 16 kHz, two samples for an octet (ITU-T G.722 mode 1). */
export class G722Decoder {
  readonly #low = new G722Band(LOW_RULE)
  readonly #high = new G722Band(HIGH_RULE)
  readonly #line = new Line()

  /** Goes on from where another one is. */
  copy(other: G722Decoder): void {
    this.#low.copy(other.#low)
    this.#high.copy(other.#high)
    this.#line.samples.set(other.#line.samples)
  }

  /** @param dst twice as long as `length` @returns samples written */
  decode(src: Uint8Array, offset: number, length: number, dst: Int16Array): number {
    const samples = PAIR * length
    for (let from = 0; from < samples; from += BLOCK) {
      const block = Math.min(BLOCK, samples - from)
      for (let i = 0; i < block; i += PAIR) this.#octet(src[offset + ((from + i) >> 1)]!, i)
      for (let i = 0; i < block; i += PAIR) this.#join(i, dst, from + i)
      this.#line.advance(block)
    }
    return samples
  }

  #octet(octet: number, at: number): void {
    const low = this.#decodeLow(octet & 0x3f)
    const high = this.#decodeHigh(octet >> 6)
    this.#line.samples[KEPT + at] = low + high
    this.#line.samples[KEPT + at + 1] = low - high
  }

  #join(at: number, dst: Int16Array, to: number): void {
    const { samples } = this.#line
    let earlier = 0
    let later = 0
    for (let i = 0; i < TAPS / 2; i++) {
      later += samples[at + 2 * i]! * FILTER[i]!
      earlier += samples[at + 2 * i + 1]! * FILTER[TAPS / 2 - 1 - i]!
    }
    dst[to] = clamp16(earlier >> 11)
    dst[to + 1] = clamp16(later >> 11)
  }

  #decodeLow(code: number): number {
    const band = this.#low
    const sample = saturate14(band.expected + ((band.step * LOW_FINE[code]!) >> 15))
    const coarse = code >> 2
    band.adapt((band.step * LOW_COARSE[coarse]!) >> 15, coarse)
    return sample
  }

  #decodeHigh(code: number): number {
    const band = this.#high
    const difference = (band.step * HIGH[code]!) >> 15
    const sample = saturate14(band.expected + difference)
    band.adapt(difference, code)
    return sample
  }
}
