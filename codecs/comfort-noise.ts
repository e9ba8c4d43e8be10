import { float64Array } from './arrays.ts'
import { clamp16 } from './audio.ts'

/** More coefficients than these tell nothing that is heard. */
const MAX_ORDER = 12
const FULL_SCALE = 32_768
/** A uniform random number of this range has a power of 1. */
const UNIT_RANGE = 2 * Math.sqrt(3)

/** The noise of a party that says by comfort noise (RFC 3389) that it is silent: of its level, and of its spectrum where it tells one. */
export class ComfortNoise {
  readonly #reflections = float64Array(MAX_ORDER)
  readonly #past = float64Array(MAX_ORDER + 1)
  #order = 0
  #amplitude = 0
  #seed = 1

  /** Takes the payload of a packet: the level below overload [dB], then reflection coefficients (§3.1, §3.2). */
  describe(bytes: Uint8Array, offset: number, length: number): void {
    if (length < 1) return
    this.#order = Math.min(length - 1, MAX_ORDER)
    // The power that the filter adds is removed first.
    let share = 1
    for (let i = 0; i < this.#order; i++) {
      const reflection = (Math.min(bytes[offset + 1 + i]!, 253) - 127) / 127
      this.#reflections[i] = reflection * 0.995
      share *= 1 - this.#reflections[i]! ** 2
    }
    this.#past.fill(0)
    this.#amplitude = FULL_SCALE * 10 ** (-(bytes[offset]! & 0x7f) / 20) * Math.sqrt(share) * UNIT_RANGE
  }

  /** Fills a frame. */
  fill(frame: Int16Array): void {
    const past = this.#past
    for (let n = 0; n < frame.length; n++) {
      this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) | 0
      let value = (this.#seed / 2 ** 32) * this.#amplitude
      for (let i = this.#order - 1; i >= 0; i--) {
        value -= this.#reflections[i]! * past[i]!
        past[i + 1] = past[i]! + this.#reflections[i]! * value
      }
      past[0] = value
      frame[n] = clamp16(Math.round(value))
    }
  }
}
