import type { Frame } from './audio.ts'

const FULL_SCALE = 32767

/** A gain is kept for so long after the last peak that needed it, so that it does not follow the single periods of a voice [frames]. */
const HOLD_FRAMES = 5
/** Then it rises: of what is missing to 1, this share with each frame, which is a time constant of 140 ms. */
const RELEASE_SHARE = 0.133
/** Values this close to 1 count as 1 [-60 dB]. */
const NEARLY_ONE = 0.999

/**
 * Keeps one output of a mix below full scale, where several loud talkers would be clipped: a gain that falls in a ramp to where the
 * frame's peaks need it, is held, and rises slowly. A ramp ends before its peak, within the frame, so that nothing is delayed. While
 * nothing is too loud, nobody asks it, and every sample stays as it is.
 */
export class Limiter {
  /** After the last frame; 1: nothing is taken away. */
  gain = 1
  /** The frame of the mix that it was last asked for. */
  tick = 0
  #held = 0

  /** Goes on from the gain that another output of the same mix had: whoever hears both hears no step. */
  follow(gain: number): void {
    this.gain = gain
    this.#held = gain < 1 ? HOLD_FRAMES : 0
  }

  /** @param sum what is mixed, without bounds @param own taken out of it; null: nothing is */
  process(sum: Int32Array, own: Frame | null, out: Frame): void {
    const begin = this.gain
    // The steepest fall that some sample needs, and the lowest gain that any does.
    let slope = 0
    let lowest = 1
    for (let i = 0; i < out.length; i++) {
      const value = own === null ? sum[i]! : sum[i]! - own[i]!
      const size = value < 0 ? -value : value
      if (size <= FULL_SCALE) continue
      const needed = FULL_SCALE / size
      if (needed < lowest) lowest = needed
      const fall = (begin - needed) / (i + 1)
      if (fall > slope) slope = fall
    }
    const end = this.#next(begin, lowest)
    if (end < begin) this.#fall(sum, own, out, begin, end, slope)
    else this.#rise(sum, own, out, begin, end)
    this.gain = end
  }

  /** The gain at the end of a frame that needs `lowest`. */
  #next(begin: number, lowest: number): number {
    if (lowest < begin) {
      this.#held = HOLD_FRAMES
      return lowest
    }
    const isNeeded = lowest < 1 && lowest < begin + (1 - begin) * RELEASE_SHARE
    if (isNeeded) this.#held = HOLD_FRAMES
    else if (this.#held > 0) this.#held--
    if (this.#held > 0) return begin
    const risen = Math.min(lowest, begin + (1 - begin) * RELEASE_SHARE)
    return risen > NEARLY_ONE ? 1 : risen
  }

  #fall(sum: Int32Array, own: Frame | null, out: Frame, begin: number, end: number, slope: number): void {
    let gain = begin
    for (let i = 0; i < out.length; i++) {
      gain -= slope
      if (gain < end) gain = end
      const value = own === null ? sum[i]! : sum[i]! - own[i]!
      out[i] = Math.round(value * gain)
    }
  }

  #rise(sum: Int32Array, own: Frame | null, out: Frame, begin: number, end: number): void {
    const step = (end - begin) / out.length
    let gain = begin
    for (let i = 0; i < out.length; i++) {
      gain += step
      const value = own === null ? sum[i]! : sum[i]! - own[i]!
      out[i] = Math.round(value * gain)
    }
  }
}
