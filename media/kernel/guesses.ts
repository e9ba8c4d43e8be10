import { LRUCache } from 'lru-cache'
import { atMost } from '../protocol/at-most.ts'
import { clientNetwork } from '../protocol.ts'

/** Maximum wrong passwords from one network for one account, and for all of them together; beyond it nothing more is checked. */
const MAX_OF_ACCOUNT = 10
const MAX_OF_NETWORK = 100
/** How long after the last of them [ms]. */
const LOCKED_MS = 10 * 60_000
/** What is remembered; the oldest is forgotten first. */
const MAX_KEYS = 20_000

/** Counts wrong passwords of SIP accounts, by source network and account. Pure. */
export class Guesses {
  readonly #counts: LRUCache<string, number>

  /** @param now monotonic [ms] */
  constructor(now: () => number) {
    this.#counts = new LRUCache({ ...atMost(MAX_KEYS), ttl: LOCKED_MS, ttlResolution: 0, perf: { now } })
  }

  /** Whether nothing more is checked for this host and account. */
  isLocked(username: string, host: string): boolean {
    const network = clientNetwork(host)
    return this.#count(network) >= MAX_OF_NETWORK || this.#count(`${network} ${username}`) >= MAX_OF_ACCOUNT
  }

  wrong(username: string, host: string): void {
    const network = clientNetwork(host)
    for (const key of [network, `${network} ${username}`]) this.#counts.set(key, this.#count(key) + 1)
  }

  /** Resets the count for this account, but not for others tried by the same host. */
  right(username: string, host: string): void {
    this.#counts.delete(`${clientNetwork(host)} ${username}`)
  }

  #count(key: string): number {
    return this.#counts.get(key) ?? 0
  }
}
