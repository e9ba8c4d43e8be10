import { MARK_SAMPLES, type Mark, readMark } from './mark.ts'

/** Of 20 ms at 8 kHz. */
export const FRAME_SAMPLES = 160
/** Where a mark that ends in the newest frame may begin, in two frames. */
const FIRST = FRAME_SAMPLES - MARK_SAMPLES + 1
const LAST = 2 * FRAME_SAMPLES - MARK_SAMPLES
/** A frame that is loud at one of these samples may hold a mark. */
const PROBES = [0, 31, 63, 95, 127, 159]

/**
 * Finds the marks in one stream of 20 ms frames, wherever they lie: once found, the next ones lie there too, until somebody plays
 * sooner or later, or another speaks.
 */
export class MarkReader {
  readonly mark: Mark = { leg: 0, frame: 0 }
  /** Where the last mark began, against the beginning of the newest frame; below 0 in the one before [samples]. */
  offset = 0
  readonly #signs = new Int8Array(2 * FRAME_SAMPLES)

  /** The newest frame, to be filled with the signs of its samples (`signOf`); the one before is kept. */
  next(): Int8Array {
    this.#signs.copyWithin(0, FRAME_SAMPLES)
    return this.#signs
  }

  /** Of the two newest frames, as they were read. */
  get signs(): Int8Array {
    return this.#signs
  }

  /** Looks for the mark that ends in the newest frame. */
  find(): 'mark' | 'none' | 'broken' {
    const signs = this.#signs
    if (PROBES.every(probe => signs[FRAME_SAMPLES + probe] === 0)) return 'none'
    const found = this.#read(FRAME_SAMPLES + this.offset)
    if (found === 'mark') return 'mark'
    // A mark reads as well one sample beside where it lies; it lies in the middle.
    for (let at = FIRST - 1; at < LAST; at++) {
      if (readMark(signs, at, this.mark) !== 'mark') continue
      // That of the frame before, once more.
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
