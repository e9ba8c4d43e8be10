import { LRUCache } from 'lru-cache'
import { atMost } from '../protocol/at-most.ts'
import type { DialTarget, Request } from '../protocol.ts'

/** A far end uses its own clock, and packets take different times: its second is a little longer here [ms]. */
const SECOND_MS = 1050
/** A longer wait is refused as having no turn [ms]. */
const MAX_WAIT_MS = 5000
const MAX_KEPT = 10_000

/** What the limit per second applies to: a connection, or a campaign. */
export type Rate = NonNullable<Request<'leg.dial'>['pace']>

/** The rate of the connection to the target; none: no limit. */
export const ratesOf = ({ connectionId: id, callsPerSecond }: DialTarget): Rate[] =>
  id === undefined || callsPerSecond === undefined ? [] : [{ id, callsPerSecond }]

interface Waiting {
  rates: readonly Begun[]
  isWanted: () => boolean
  go: (may: boolean) => void
}

interface Begun {
  perSecond: number
  /** The start times of the last `perSecond` calls [ms], the oldest first. */
  begun: number[]
  /** The connection or campaign of the first rate. */
  waiting: Waiting[]
  /** When they are looked at again; `Infinity`: never [ms]. */
  wakesAt: number
}

interface CallPaceOptions {
  /** [ms] */
  now: () => number
  later: (run: () => void, afterMs: number) => void
}

/**
 * Paces INVITEs. For each connection and each campaign, no more than allowed leave in any second. That holds even if they arrive late or
 * together, from a busy or new control process, failovers or redirections. First come, first served.
 */
export class CallPace {
  readonly #options: CallPaceOptions
  readonly #known = new LRUCache<string, Begun>(atMost(MAX_KEPT))

  constructor(options: CallPaceOptions) {
    this.#options = options
  }

  /** Whether a call of these would have to wait now. */
  waits(rates: readonly Rate[]): boolean {
    return rates.some(({ id }) => {
      const known = this.#known.get(id)
      return known !== undefined && (known.waiting.length > 0 || this.#freeIn(known) > 0)
    })
  }

  /** Resolves with true when its INVITE may leave; false: that would be too late. A call that is no longer wanted uses nobody's turn. */
  turn(rates: readonly Rate[], isWanted: () => boolean): Promise<boolean> {
    const all = rates.map(rate => this.#of(rate))
    const [first] = all
    if (first === undefined) return Promise.resolve(true)
    if ((first.waiting.length / first.perSecond) * SECOND_MS >= MAX_WAIT_MS) return Promise.resolve(false)
    return new Promise(go => {
      first.waiting.push({ rates: all, isWanted, go })
      this.#serve(first)
    })
  }

  #of({ id, callsPerSecond: perSecond }: Rate): Begun {
    const known = this.#known.get(id)
    const one = known ?? { perSecond, begun: [], waiting: [], wakesAt: Number.POSITIVE_INFINITY }
    // It may have changed.
    one.perSecond = perSecond
    if (known === undefined) this.#known.set(id, one)
    return one
  }

  /** Time until another one may begin [ms]. */
  #freeIn({ begun, perSecond }: Begun): number {
    const last = begun.at(-perSecond)
    return last === undefined ? 0 : Math.max(0, last + SECOND_MS - this.#options.now())
  }

  #serve(one: Begun): void {
    let soonestMs = Number.POSITIVE_INFINITY
    // A call that waits for its campaign does not delay others of its connection.
    one.waiting = one.waiting.filter(({ rates, isWanted, go }) => {
      const waitMs = Math.max(...rates.map(rate => this.#freeIn(rate)))
      if (waitMs > 0) {
        soonestMs = Math.min(soonestMs, waitMs)
        return true
      }
      const may = isWanted()
      if (may) for (const rate of rates) this.#count(rate)
      go(may)
      return false
    })
    const at = this.#options.now() + soonestMs
    if (at >= one.wakesAt) return
    one.wakesAt = at
    this.#options.later(() => {
      if (one.wakesAt === at) one.wakesAt = Number.POSITIVE_INFINITY
      this.#serve(one)
    }, soonestMs)
  }

  #count({ begun, perSecond }: Begun): void {
    begun.push(this.#options.now())
    if (begun.length > perSecond) begun.splice(0, begun.length - perSecond)
  }
}
