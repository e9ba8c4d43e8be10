/** A token bucket: lets bursts through up to its size, and a steady rate behind them. Pure. */
export class RateLimit {
  /** What was refused. */
  refused = 0
  readonly #burst: number
  readonly #perSecond: number
  #tokens: number
  #at = 0

  constructor(burst: number, perSecond: number) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#tokens = burst
  }

  /** Whether one more may pass at `now` [ms], monotonic. */
  allow(now: number): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) * this.#perSecond) / 1000)
    this.#at = now
    if (this.#tokens < 1) {
      this.refused++
      return false
    }
    this.#tokens--
    return true
  }
}
