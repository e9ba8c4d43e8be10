import { clamp16, type Frame } from '../../codecs/audio.ts'

/**
 * What members say above 4 kHz, summed once a tick (`codecs/bands.ts`): beside the mix of what is below, which is that of a telephone and
 * all that others than wideband codecs hear.
 */
export class UpperBand {
  readonly #sum: Int32Array
  #voices = 0

  constructor(samples: number) {
    this.#sum = new Int32Array(samples)
  }

  clear(): void {
    if (this.#voices > 0) this.#sum.fill(0)
    this.#voices = 0
  }

  add(frame: Frame): void {
    const sum = this.#sum
    for (let i = 0; i < sum.length; i++) sum[i]! += frame[i]!
    this.#voices++
  }

  /** Writes the sum without `own` (which was added), at the gain that the lower band is limited to. @returns `out`, or null: there is nothing */
  without(own: Frame | null, gain: number, out: Frame): Frame | null {
    if (this.#voices === (own === null ? 0 : 1)) return null
    const sum = this.#sum
    for (let i = 0; i < sum.length; i++) {
      const value = own === null ? sum[i]! : sum[i]! - own[i]!
      out[i] = clamp16(gain < 1 ? Math.round(gain * value) : value)
    }
    return out
  }
}
