/** The fastest packet of each window of this length represents it [ms]. */
const WINDOW_MS = 5000
/** With fewer windows the drift is unknown. */
const LEAST_WINDOWS = 6
/** Where the transit time changes by this much, nothing of before counts any more [ms]. */
const JUMP_MS = 60
/** From window to window it changes by this much with the route, and not with a clock [ms]. */
const ROUTE_MS = 8
const UNITS_PER_MS = 8

/** The drift of a sender's clock against ours: lines of one slope through its fastest packets, one for each route. Pure: `now` is monotonic [ms]. */
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
  /** Of the routes before: their windows, and the sums around their means. */
  #windows = 0
  #square = 0
  #product = 0

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
    const square = this.#square + this.#squareHere
    if (Number.isNaN(this.#windowEnd) || this.#windows + this.#count < LEAST_WINDOWS || square === 0) return null
    return (-1e6 * (this.#product + this.#productHere)) / square / UNITS_PER_MS
  }

  get #squareHere(): number {
    return this.#count === 0 ? 0 : this.#timesTimes - this.#times ** 2 / this.#count
  }

  get #productHere(): number {
    return this.#count === 0 ? 0 : this.#timesUnits - (this.#times * this.#units) / this.#count
  }

  #begin(transit: number, now: number): void {
    this.#fromUnits = transit
    this.#from = now
    this.#windowEnd = now + WINDOW_MS
    this.#least = Number.POSITIVE_INFINITY
    this.#last = 0
    this.#windows = 0
    this.#square = 0
    this.#product = 0
    this.#beginRoute()
  }

  #beginRoute(): void {
    this.#count = 0
    this.#times = 0
    this.#units = 0
    this.#timesTimes = 0
    this.#timesUnits = 0
  }

  #endRoute(): void {
    this.#windows += this.#count
    this.#square += this.#squareHere
    this.#product += this.#productHere
    this.#beginRoute()
  }

  #close(now: number): void {
    const time = now - this.#from
    const least = this.#least
    if (this.#count > 0 && Math.abs(least - this.#last) > ROUTE_MS * UNITS_PER_MS) this.#endRoute()
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
