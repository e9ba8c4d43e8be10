import { PCMU } from '../../codecs/g711.ts'
import { LEG_SAMPLES } from '../../media/rooms/leg.ts'

/** Level of a quiet room on the telephone, −60 dBov [linear]. */
const RMS = 32_768 * 10 ** (-60 / 20)
const FRAMES = 64

/** Frames of white noise in µ-law. */
export class Noise {
  readonly #frames: readonly Uint8Array[]

  constructor() {
    let state = 1
    const random = (): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 2 ** 32
    }
    this.#frames = Array.from({ length: FRAMES }, () => {
      // The sum of twelve uniform numbers is nearly normal, with variance 1.
      const normal = (): number => Array.from({ length: 12 }, random).reduce((sum, value) => sum + value, -6)
      const bytes = new Uint8Array(LEG_SAMPLES)
      PCMU.encode(
        Int16Array.from({ length: LEG_SAMPLES }, () => Math.round(RMS * normal())),
        bytes,
      )
      return bytes
    })
  }

  frame(number: number): Uint8Array {
    return this.#frames[number % FRAMES]!
  }
}
