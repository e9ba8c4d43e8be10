import { int32Array } from '../../codecs/arrays.ts'
import { clamp16, type Frame } from '../../codecs/audio.ts'

/** A frame of that band, at the gain of the lower one; `out`, or the frame itself if nothing is to be done. */
export function atGain(frame: Frame, gain: number, out: Frame): Frame {
  if (gain >= 1) return frame
  for (let i = 0; i < frame.length; i++) out[i] = Math.round(gain * frame[i]!)
  return out
}

/**
 * The sum of what members say above 4 kHz, once per tick (`codecs/bands.ts`). The separate mix of the lower band is that of a telephone, and
 * all that legs without a wideband codec hear.
 */
export class UpperBand {
  readonly #sum: Int32Array
  #voices = 0

  constructor(samples: number) {
    this.#sum = int32Array(samples)
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

  /** Writes the sum without `own` (which was added), at the gain of the lower band. @returns `out`, or null: there is nothing */
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
