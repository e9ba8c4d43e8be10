import { RateLimit } from '../protocol.ts'

/** Networks that are remembered. */
const MAX_NETWORKS = 10_000

/**
 * A token bucket for each network (`clientNetwork`). Of a bounded number of networks: the one that came longest ago is forgotten, and
 * begins with a full bucket again. Pure.
 */
export class NetworkLimits {
  readonly #burst: number
  readonly #perSecond: number
  readonly #max: number
  readonly #buckets = new Map<string, RateLimit>()

  constructor(burst: number, perSecond: number, maxNetworks = MAX_NETWORKS) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#max = maxNetworks
  }

  /** Whether one more of this network may pass at `now` [ms], monotonic. */
  allow(network: string, now: number): boolean {
    const bucket = this.#buckets.get(network) ?? new RateLimit(this.#burst, this.#perSecond)
    this.#buckets.delete(network)
    this.#buckets.set(network, bucket)
    if (this.#buckets.size > this.#max) this.#buckets.delete(this.#buckets.keys().next().value as string)
    return bucket.allow(now)
  }
}
