import { MARK_SAMPLES, type Mark, readMark } from './mark.ts'

/** Samples of 20 ms at 8 kHz. */
export const FRAME_SAMPLES = 160
/** Where in two frames a mark that ends in the second one may begin. */
const FIRST = FRAME_SAMPLES - MARK_SAMPLES + 1
const LAST = 2 * FRAME_SAMPLES - MARK_SAMPLES
/** A frame that is quiet at all these samples holds no mark. */
const PROBES = [0, 31, 63, 95, 127, 159]

/**
 * Finds the marks in one stream of 20 ms frames, at any offset. It looks first where the last one was: the offset stays the same until a playout
 * delay changes or somebody else speaks.
 */
export class MarkReader {
  readonly mark: Mark = { leg: 0, frame: 0 }
  /** Where the last mark began, from the beginning of the newest frame; negative: in the frame before it [samples]. */
  offset = 0
  readonly #signs = new Int8Array(2 * FRAME_SAMPLES)

  /** Makes room for the next frame: its signs (`signOf`) are to be written from `FRAME_SAMPLES` on, behind those of the frame before. */
  next(): Int8Array {
    this.#signs.copyWithin(0, FRAME_SAMPLES)
    return this.#signs
  }

  /** The signs of the two newest frames. */
  get signs(): Int8Array {
    return this.#signs
  }

  /** Looks for the mark that ends in the newest frame. */
  find(): 'mark' | 'none' | 'broken' {
    const signs = this.#signs
    if (PROBES.every(probe => signs[FRAME_SAMPLES + probe] === 0)) return 'none'
    const found = this.#read(FRAME_SAMPLES + this.offset)
    if (found === 'mark') return 'mark'
    // A mark can be read up to one sample beside its place, so of three readable places the middle one is right.
    for (let at = FIRST - 1; at < LAST; at++) {
      if (readMark(signs, at, this.mark) !== 'mark') continue
      // This is the mark of the frame before.
      if (at === FIRST - 1 && readMark(signs, at - 1, this.mark) === 'mark') continue
      return this.#read(at + 1) === 'mark' ? 'mark' : this.#read(at)
    }
    return found
  }

  #read(at: number): 'mark' | 'none' | 'broken' {
    const found = readMark(this.#signs, at, this.mark)
    if (found === 'mark') this.offset = at - FRAME_SAMPLES
    return found
  }
}
