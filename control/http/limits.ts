import { RateLimit } from '../../media/protocol.ts'

/** Requests that a key may send at once, and how many a second it may keep up. */
export const DEFAULT_RATE = { burst: 300, perSecond: 100 }

const MAX_BUCKETS = 10_000

/** A token bucket for each key, in memory. */
export class RateLimiter {
  readonly #burst: number
  readonly #perSecond: number
  readonly #buckets = new Map<string, RateLimit>()

  /** At most `MAX_BUCKETS` keys are remembered; beyond that the one that asked longest ago is forgotten (it starts full again). */
  constructor(rate: { burst: number; perSecond: number }) {
    this.#burst = rate.burst
    this.#perSecond = rate.perSecond
  }

  /** Takes one request's token at `now` [ms]; 0, or the seconds after which to try again. */
  take(key: string, now: number): number {
    const bucket = this.#buckets.get(key) ?? new RateLimit(this.#burst, this.#perSecond, now)
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    if (this.#buckets.size > MAX_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value as string)
    return bucket.allow(now) ? 0 : Math.max(1, Math.ceil(bucket.waitS))
  }
}
