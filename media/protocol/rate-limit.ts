/** A token bucket: lets bursts through up to its size, and a steady rate behind them. Pure. */
export class RateLimit {
  /** What was refused. */
  refused = 0
  readonly #burst: number
  readonly #perSecond: number
  #tokens: number
  #at: number

  /** @param now monotonic [ms] */
  constructor(burst: number, perSecond: number, now = 0) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#tokens = burst
    this.#at = now
  }

  /** Whether one more may pass at `now` [ms], monotonic. */
  allow(now: number): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + (Math.max(0, now - this.#at) * this.#perSecond) / 1000)
    this.#at = now
    if (this.#tokens < 1) {
      this.refused++
      return false
    }
    this.#tokens--
    return true
  }

  /** After which one more may pass, at the moment of the last question [s]. */
  get waitS(): number {
    return Math.max(0, (1 - this.#tokens) / this.#perSecond)
  }
}
