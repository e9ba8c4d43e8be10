import { LRUCache } from 'lru-cache'
import { atMost } from './at-most.ts'

export interface Rate {
  /** The burst that may pass, and the rate per second after it. */
  burst: number
  perSecond: number
}

/** A token bucket: lets bursts through up to its size, and a steady rate behind them. Pure. */
export class RateLimit {
  /** Number of refusals. */
  refused = 0
  readonly #burst: number
  readonly #perSecond: number
  #tokens: number
  #at: number

  /** @param now monotonic [ms] */
  constructor({ burst, perSecond }: Rate, now = 0) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#tokens = burst
    this.#at = now
  }

  /** Whether one more may pass at `now` [ms], monotonic. `size`: as how many it counts. */
  allow(now: number, size = 1): boolean {
    if (!this.wouldAllow(now, size)) {
      this.refused++
      return false
    }
    this.#tokens -= size
    return true
  }

  /** Whether the next one would be allowed, without counting it. */
  wouldAllow(now: number, size = 1): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + (Math.max(0, now - this.#at) * this.#perSecond) / 1000)
    this.#at = now
    return this.#tokens >= size
  }

  /** After which one more may pass, at the moment of the last question [s]. */
  get waitS(): number {
    return Math.max(0, (1 - this.#tokens) / this.#perSecond)
  }
}

/** Keys that are remembered; the one that asked longest ago is forgotten, and begins with a full bucket again. */
const MAX_KEYS = 10_000

/** A token bucket for each of many: keys, networks, members. Pure. */
export class RateLimits {
  readonly #rate: Rate
  readonly #buckets = new LRUCache<string, RateLimit>(atMost(MAX_KEYS))

  constructor(rate: Rate) {
    this.#rate = rate
  }

  /** Whether one more of this key may pass at `now` [ms]. */
  allow(key: string, now: number): boolean {
    return this.#bucket(key, now).allow(now)
  }

  /** The same; 0, or the whole seconds after which to try again. `rate`: of this key, which names it; absent: that of all. */
  take(key: string, now: number, rate = this.#rate): number {
    const bucket = this.#bucket(key, now, rate)
    return bucket.allow(now) ? 0 : Math.max(1, Math.ceil(bucket.waitS))
  }

  #bucket(key: string, now: number, rate = this.#rate): RateLimit {
    const known = this.#buckets.get(key)
    if (known !== undefined) return known
    const fresh = new RateLimit(rate, now)
    this.#buckets.set(key, fresh)
    return fresh
  }
}
