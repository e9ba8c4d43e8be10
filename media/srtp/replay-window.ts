import { float64Array } from '../../codecs/arrays.ts'

const WINDOW = 128

/** The received packets of one source (RFC 3711 §3.3.2): none is accepted twice, and none older than the window. */
export class ReplayWindow {
  /** The highest index received; −1: none. */
  highest = -1
  readonly #taken = float64Array(WINDOW).fill(-1)

  /** Whether a packet is neither a copy nor too old to tell. */
  admits(index: number): boolean {
    return index >= 0 && index > this.highest - WINDOW && this.#taken[index % WINDOW] !== index
  }

  /** An authentic packet has arrived. */
  take(index: number): void {
    this.#taken[index % WINDOW] = index
    if (index > this.highest) this.highest = index
  }
}
