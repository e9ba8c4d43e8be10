import { float64Array } from './arrays.ts'
import type { Frame } from './audio.ts'

const RATE_HZ = 8000
const FRAME = 160
/** Odd, so that the delay is whole: half of it is one frame. */
const TAPS = 2 * FRAME + 1
/** Contents of the line, incomplete frames included. */
const LINE_FRAMES = Math.ceil((TAPS - 1 + FRAME) / FRAME)
/** The frequencies of keypads with 2.5 % on each side, and half of a flank [Hz]. */
const FLANK_HZ = 45
const BANDS_HZ = [
  [697 * 0.975 - FLANK_HZ, 941 * 1.025 + FLANK_HZ],
  [1209 * 0.975 - FLANK_HZ, 1633 * 1.025 + FLANK_HZ],
] as const
/** Parameter of the Kaiser window: some 60 dB. */
const BETA = 5.65
/** Comfort noise that covers the rest of a tone, if the listener's codec adds none: ± this much, -77 dBov. */
const NOISE = 8
/** Softer audio is a codec's idle noise, and is not changed. */
const IDLE = 16

/** The output of `KeypadStop` lies so many frames behind its input. */
export const STOP_DELAY_FRAMES = 1

/**
 * Takes the frequencies of keypads out of a voice: what is left is understood, and holds no key, however faint one is under the voice.
 * Linear phase, one frame of delay; 8 kHz, 20 ms frames.
 */
export class KeypadStop {
  readonly #line = float64Array(TAPS - 1 + FRAME)
  #noise = 1
  /** Frames of digital silence in a row. */
  #silent = LINE_FRAMES

  /** They may be the same array. */
  process(input: Frame, output: Frame): void {
    const line = this.#line
    line.copyWithin(0, FRAME)
    let isSilent = true
    for (let i = 0; i < FRAME; i++) {
      line[TAPS - 1 + i] = input[i]!
      if (input[i] !== 0) isSilent = false
    }
    this.#silent = isSilent ? this.#silent + 1 : 0
    // Most of those in a room say nothing most of the time.
    if (this.#silent >= LINE_FRAMES) {
      output.fill(0)
      return
    }
    for (let i = 0; i < FRAME; i += 4) this.#filter(i, output)
  }

  /** Filters four samples at once, so that no sum waits for the one before. */
  #filter(i: number, output: Frame): void {
    const line = this.#line
    const middle = COEFFICIENTS[TAPS >> 1]!
    const at = i + (TAPS >> 1)
    let a = middle * line[at]!
    let b = middle * line[at + 1]!
    let c = middle * line[at + 2]!
    let d = middle * line[at + 3]!
    // Symmetric: two samples share a factor.
    for (let n = 0, first = i, last = i + TAPS - 1; n < TAPS >> 1; n++, first++, last--) {
      const factor = COEFFICIENTS[n]!
      a += factor * (line[first]! + line[last]!)
      b += factor * (line[first + 1]! + line[last + 1]!)
      c += factor * (line[first + 2]! + line[last + 2]!)
      d += factor * (line[first + 3]! + line[last + 3]!)
    }
    output[i] = this.#covered(a)
    output[i + 1] = this.#covered(b)
    output[i + 2] = this.#covered(c)
    output[i + 3] = this.#covered(d)
  }

  #covered(sum: number): number {
    const noise = this.#nextNoise()
    return Math.max(-32_768, Math.min(32_767, Math.round(Math.abs(sum) < IDLE ? sum : sum + noise)))
  }

  #nextNoise(): number {
    this.#noise = (Math.imul(this.#noise, 1_664_525) + 1_013_904_223) | 0
    return (NOISE * this.#noise) / 2 ** 31
  }
}

/** A band stop: everything less two band passes, windowed (Kaiser). */
const COEFFICIENTS = Float64Array.from({ length: TAPS }, (_, n) => {
  const at = n - (TAPS >> 1)
  const passed = BANDS_HZ.reduce((sum, [low, high]) => sum + lowPass(high, at) - lowPass(low, at), 0)
  return ((at === 0 ? 1 : 0) - passed) * kaiser((2 * at) / (TAPS - 1))
})

function lowPass(hz: number, at: number): number {
  const cutoff = (2 * hz) / RATE_HZ
  return at === 0 ? cutoff : Math.sin(Math.PI * cutoff * at) / (Math.PI * at)
}

function kaiser(x: number): number {
  return bessel(BETA * Math.sqrt(Math.max(0, 1 - x * x))) / bessel(BETA)
}

/** The modified Bessel function of order zero. */
function bessel(x: number): number {
  let [sum, term] = [1, 1]
  for (let k = 1; k < 40; k++) {
    term *= (x / (2 * k)) ** 2
    sum += term
  }
  return sum
}
