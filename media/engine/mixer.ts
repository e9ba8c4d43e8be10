import { clamp16, type Frame } from '../../codecs/audio.ts'

/** Mixes one 20 ms frame for a room: summed once, in Int32, so that the order of the parties cannot matter. */
export class Mixer {
  readonly #sum: Int32Array
  #voices = 0

  constructor(samples: number) {
    this.#sum = new Int32Array(samples)
  }

  clear(): void {
    if (this.#voices > 0) this.#sum.fill(0)
    this.#voices = 0
  }

  /** How many frames the sum holds; with none every output is silence. */
  get voices(): number {
    return this.#voices
  }

  add(frame: Frame): void {
    const sum = this.#sum
    for (let i = 0; i < sum.length; i++) sum[i]! += frame[i]!
    this.#voices++
  }

  /** Takes a frame that was added out of the sum again: for a listener who must not hear it. */
  remove(frame: Frame): void {
    const sum = this.#sum
    for (let i = 0; i < sum.length; i++) sum[i]! -= frame[i]!
    this.#voices--
  }

  /** Writes the sum, clamped once. */
  all(out: Frame): void {
    const sum = this.#sum
    for (let i = 0; i < sum.length; i++) out[i] = clamp16(sum[i]!)
  }

  /** Writes the sum without `own` (which was added), clamped once: mix-minus. */
  without(own: Frame, out: Frame): void {
    const sum = this.#sum
    for (let i = 0; i < sum.length; i++) out[i] = clamp16(sum[i]! - own[i]!)
  }
}
