/** The fastest packet of each window of this length represents it [ms]. */
const WINDOW_MS = 5000
/** With fewer windows the drift is unknown. */
const LEAST_WINDOWS = 6
/** A change of the transit time by this much is a change of route, not of a clock [ms]. */
const JUMP_MS = 60
const UNITS_PER_MS = 8

/** The drift of a sender's clock against ours: a line through its fastest packets. Pure: `now` is monotonic [ms]. */
export class ClockDrift {
  #windowEnd = Number.NaN
  #least = 0
  #from = 0
  #fromUnits = 0
  #last = 0
  #count = 0
  #times = 0
  #units = 0
  #timesTimes = 0
  #timesUnits = 0

  /** @param transit of the fastest packet since the last call, from its timestamp to its arrival [1/8 ms, signed 32 bit] */
  note(transit: number, now: number): void {
    if (Number.isNaN(this.#windowEnd)) this.#begin(transit, now)
    const units = (transit - this.#fromUnits) | 0
    if (Math.abs(units - this.#last) > JUMP_MS * UNITS_PER_MS) {
      this.#begin(transit, now)
      return
    }
    if (units < this.#least) this.#least = units
    if (now >= this.#windowEnd) this.#close(now)
  }

  /** Another source. */
  reset(): void {
    this.#windowEnd = Number.NaN
  }

  /** Parts per million, positive: faster than ours; null: not known yet. */
  get ppm(): number | null {
    const spread = this.#count * this.#timesTimes - this.#times ** 2
    if (Number.isNaN(this.#windowEnd) || this.#count < LEAST_WINDOWS || spread === 0) return null
    const slope = (this.#count * this.#timesUnits - this.#times * this.#units) / spread
    return (-1e6 * slope) / UNITS_PER_MS
  }

  #begin(transit: number, now: number): void {
    this.#fromUnits = transit
    this.#from = now
    this.#windowEnd = now + WINDOW_MS
    this.#least = Number.POSITIVE_INFINITY
    this.#last = 0
    this.#count = 0
    this.#times = 0
    this.#units = 0
    this.#timesTimes = 0
    this.#timesUnits = 0
  }

  #close(now: number): void {
    const time = now - this.#from
    const least = this.#least
    this.#count++
    this.#times += time
    this.#units += least
    this.#timesTimes += time * time
    this.#timesUnits += time * least
    this.#last = least
    this.#least = Number.POSITIVE_INFINITY
    this.#windowEnd = now + WINDOW_MS
  }
}
