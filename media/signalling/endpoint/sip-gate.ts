import { LRUCache } from 'lru-cache'
import { atMost } from '../../protocol/at-most.ts'
import { blocksAround, clientNetwork, RateLimit, RateLimits } from '../../protocol.ts'

/** Messages at once, and a second, of one network that nobody knows. */
const STRANGER = { burst: 250, perSecond: 100 }
/** The same of one that we know: a trunk's, or that of an office full of phones. */
const KNOWN = { burst: 10_000, perSecond: 4_000 }
/** Rate limit of all strangers together, since addresses over UDP can be forged. The burst is what is answered before anything else is read. */
const ALL_STRANGERS = { burst: 250, perSecond: 500 }
/** Calls of one network that nobody knows: each asks control, and its answer is repeated for half a minute if nobody acknowledges it. */
const STRANGERS_CALLS = { burst: 50, perSecond: 10 }
/** Of all strangers together. */
const ALL_STRANGERS_CALLS = { burst: 100, perSecond: 50 }
/** How long one is known whom we have sent a request to, or who has registered [ms]; a registration lasts an hour at most. */
const MET_MS = 70 * 60 * 1000
const MAX_MET = 50_000
/** Hosts that are judged once: to read an address takes longer than all else that a message of a flood costs. */
const MAX_JUDGED = 4096

/**
 * Who may be heard over SIP, and how often. A flood is cut off before it is read, network by network; trunks, registered phones and
 * whom we have called ourselves have room of their own, however many strangers there are. Pure.
 */
export class SipGate {
  /** Messages that were not looked at. */
  refused = 0
  readonly #strangers = new RateLimits(STRANGER)
  readonly #acquaintances = new RateLimits(KNOWN)
  readonly #allStrangers = new RateLimit(ALL_STRANGERS)
  readonly #calls = new RateLimits(STRANGERS_CALLS)
  readonly #allCalls = new RateLimit(ALL_STRANGERS_CALLS)
  /** Until when each is known. */
  readonly #met = new LRUCache<string, number>(atMost(MAX_MET))
  readonly #judged = new LRUCache<string, { isKnown: boolean; network: string }>(atMost(MAX_JUDGED))
  #blocks: ReadonlySet<string> = new Set()
  #lengths: readonly number[] = []

  /** Networks of connections and phones, as canonical CIDR blocks; in the place of those before. */
  know(blocks: readonly string[]): void {
    this.#blocks = new Set(blocks)
    this.#judged.clear()
    this.#lengths = [...new Set(blocks.map(block => Number(block.slice(block.indexOf('/') + 1))))]
  }

  /** We have sent a request there, or it has registered. `now` monotonic [ms]. */
  meet(host: string, now: number): void {
    this.#met.set(host, now + MET_MS)
  }

  isKnown(host: string, now: number): boolean {
    if ((this.#met.get(host) ?? 0) > now) return true
    return this.#judge(host).isKnown
  }

  /** Whether a host is in a network of a connection or a phone. */
  isOfNetworks(host: string): boolean {
    return this.#judge(host).isKnown
  }

  #judge(host: string): { isKnown: boolean; network: string } {
    const before = this.#judged.get(host)
    if (before !== undefined) return before
    const around = this.#lengths.length === 0 ? [] : blocksAround(host, this.#lengths)
    const judged = { isKnown: around.some(block => this.#blocks.has(block)), network: clientNetwork(host) }
    this.#judged.set(host, judged)
    return judged
  }

  /** Whether one more message of this host is looked at. */
  admits(host: string, isKnown: boolean, now: number): boolean {
    const isAdmitted = isKnown
      ? this.#acquaintances.allow(this.#judge(host).network, now)
      : this.#admitsStranger(host, now)
    if (!isAdmitted) this.refused++
    return isAdmitted
  }

  /** The shared limit comes first: in a flood it refuses nearly all, which saves looking up each one's own. */
  #admitsStranger(host: string, now: number): boolean {
    return (
      this.#allStrangers.wouldAllow(now) &&
      this.#strangers.allow(this.#judge(host).network, now) &&
      this.#allStrangers.allow(now)
    )
  }

  /** Whether one more call of a stranger is asked about. */
  admitsCall(host: string, now: number): boolean {
    return this.#calls.allow(this.#judge(host).network, now) && this.#allCalls.allow(now)
  }
}
