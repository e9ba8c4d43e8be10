const WINDOW = 128

/** Which packets of one source have come (RFC 3711 §3.3.2): none is taken twice, and none that is older than the window. */
export class ReplayWindow {
  /** The highest index that has come; −1: none. */
  highest = -1
  readonly #taken = new Float64Array(WINDOW).fill(-1)

  /** Whether a packet is neither a copy nor too old to tell. */
  admits(index: number): boolean {
    return index >= 0 && index > this.highest - WINDOW && this.#taken[index % WINDOW] !== index
  }

  /** An authentic packet has come. */
  take(index: number): void {
    this.#taken[index % WINDOW] = index
    if (index > this.highest) this.highest = index
  }
}
