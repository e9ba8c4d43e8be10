import { float64Array } from './arrays.ts'
import { clamp16 } from './audio.ts'

/** Taps of the filter: 4.9 ms there and back. From 3.56 kHz of each band down it lets nothing of the other through [-70 dB]. */
const TAPS = 80
const HALF = TAPS / 2
/** Half of the delay, in samples of a band. */
export const SPLITTER_DELAY = TAPS / 4
/** Parameter of the window (Kaiser's), for 70 dB. */
const BETA = 6.755
/** Samples of a frame of one band. */
const BAND_SAMPLES = 160

/** The modified Bessel function of order 0. */
function bessel(x: number): number {
  let sum = 1
  let term = 1
  for (let k = 1; term > 1e-12 * sum; k++) {
    term *= (x / (2 * k)) ** 2
    sum += term
  }
  return sum
}

/** A low-pass filter of linear phase, 1 at 0 Hz. @param cutoff [rad per sample] */
function lowPass(cutoff: number): Float64Array {
  const taps = Float64Array.from({ length: TAPS }, (_, n) => {
    const t = n - (TAPS - 1) / 2
    const window = bessel(BETA * Math.sqrt(1 - (t / (TAPS / 2)) ** 2)) / bessel(BETA)
    return (window * Math.sin(cutoff * t)) / (Math.PI * t)
  })
  const sum = taps.reduce((total, tap) => total + tap, 0)
  return taps.map(tap => tap / sum)
}

/** The response of a filter in the middle, where the bands meet. */
function middleGain(taps: Float64Array): number {
  let gain = 0
  for (const [n, tap] of taps.entries()) gain += tap * Math.cos((Math.PI / 2) * (n - (TAPS - 1) / 2))
  return gain
}

/** The filter that both bands have half the power of where they meet: then nothing is missing when they are joined, and nothing double. */
function design(): Float64Array {
  let [low, high] = [Math.PI / 2, (Math.PI / 2) * 1.1]
  for (let i = 0; i < 40; i++) {
    const middle = (low + high) / 2
    if (middleGain(lowPass(middle)) < Math.SQRT1_2) low = middle
    else high = middle
  }
  return lowPass(low)
}

const FILTER = design()
/** Every other tap of it, backwards, as they meet samples in their order. */
const EVEN = Float64Array.from({ length: HALF }, (_, i) => FILTER[TAPS - 2 - 2 * i]!)
const ODD = Float64Array.from({ length: HALF }, (_, i) => FILTER[TAPS - 1 - 2 * i]!)

/**
 * Splits a stream of 16 kHz into two of 8 kHz: the part below 4 kHz, as an 8 kHz telephone has it, and the mirrored part above. A mix of both
 * bands is the mix of the whole (quadrature mirror filters), so parties without the upper band cost and lose nothing.
 */
export class BandSplitter {
  readonly #past = float64Array(TAPS - 2 + 2 * BAND_SAMPLES)

  /** @param high where the upper band is written; null: nobody wants it now */
  split(wide: Int16Array, low: Int16Array, high: Int16Array | null): void {
    const past = this.#past
    past.copyWithin(0, wide.length)
    for (let i = 0; i < wide.length; i++) past[TAPS - 2 + i] = wide[i]!
    for (let i = 0; i < low.length; i++) {
      let even = 0
      let odd = 0
      for (let k = 0; k < HALF; k++) {
        odd += past[2 * (i + k)]! * ODD[k]!
        even += past[2 * (i + k) + 1]! * EVEN[k]!
      }
      low[i] = clamp16(Math.round(even + odd))
      if (high !== null) high[i] = clamp16(Math.round(even - odd))
    }
  }
}

/** Joins what `BandSplitter` has parted. */
export class BandJoiner {
  readonly #sums = float64Array(HALF - 1 + BAND_SAMPLES)
  readonly #differences = float64Array(HALF - 1 + BAND_SAMPLES)

  /** @param high null: there is none */
  join(low: Int16Array, high: Int16Array | null, wide: Int16Array): void {
    const sums = this.#sums
    const differences = this.#differences
    sums.copyWithin(0, low.length)
    differences.copyWithin(0, low.length)
    for (let i = 0; i < low.length; i++) {
      const upper = high === null ? 0 : high[i]!
      sums[HALF - 1 + i] = low[i]! + upper
      differences[HALF - 1 + i] = low[i]! - upper
    }
    for (let i = 0; i < low.length; i++) {
      let even = 0
      let odd = 0
      for (let k = 0; k < HALF; k++) {
        even += differences[i + k]! * EVEN[k]!
        odd += sums[i + k]! * ODD[k]!
      }
      wide[2 * i] = clamp16(Math.round(2 * even))
      wide[2 * i + 1] = clamp16(Math.round(2 * odd))
    }
  }
}
