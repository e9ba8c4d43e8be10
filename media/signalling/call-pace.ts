import { LRUCache } from 'lru-cache'
import { atMost } from '../protocol/at-most.ts'
import type { DialTarget } from '../protocol.ts'

/** A far end uses its own clock, and packets take different times: its second is a little longer here [ms]. */
export const SECOND_MS = 1050
/** A longer wait is refused as having no turn [ms]. */
const MAX_WAIT_MS = 5000
const MAX_CONNECTIONS = 10_000

interface Waiting {
  isWanted: () => boolean
  go: (may: boolean) => void
}

interface Connection {
  perSecond: number
  /** The start times of the last `perSecond` calls [ms], the oldest first. */
  begun: number[]
  waiting: Waiting[]
  isTimed: boolean
}

interface CallPaceOptions {
  /** [ms] */
  now: () => number
  later: (run: () => void, afterMs: number) => void
}

/**
 * Paces INVITEs: over one connection no more than allowed leave in any second, even if they arrive late or together, because of a busy control,
 * failovers from another connection, or redirections. First come, first served.
 */
export class CallPace {
  readonly #options: CallPaceOptions
  readonly #connections = new LRUCache<string, Connection>(atMost(MAX_CONNECTIONS))

  constructor(options: CallPaceOptions) {
    this.#options = options
  }

  /** Whether a call to this target would have to wait now. */
  waits({ connectionId, callsPerSecond }: Pick<DialTarget, 'connectionId' | 'callsPerSecond'>): boolean {
    if (connectionId === undefined || callsPerSecond === undefined) return false
    const known = this.#connections.get(connectionId)
    return known !== undefined && (known.waiting.length > 0 || this.#freeIn(known) > 0)
  }

  /** Resolves with true when its INVITE may leave; false: that would be too late. A call that is no longer wanted uses nobody's turn. */
  turn(
    { connectionId, callsPerSecond }: Pick<DialTarget, 'connectionId' | 'callsPerSecond'>,
    isWanted: () => boolean,
  ): Promise<boolean> {
    if (connectionId === undefined || callsPerSecond === undefined) return Promise.resolve(true)
    const one = this.#of(connectionId, callsPerSecond)
    if ((one.waiting.length / callsPerSecond) * SECOND_MS >= MAX_WAIT_MS) return Promise.resolve(false)
    return new Promise(go => {
      one.waiting.push({ isWanted, go })
      this.#serve(one)
    })
  }

  #of(id: string, perSecond: number): Connection {
    const known = this.#connections.get(id)
    const one = known ?? { perSecond, begun: [], waiting: [], isTimed: false }
    // It may have changed.
    one.perSecond = perSecond
    if (known === undefined) this.#connections.set(id, one)
    return one
  }

  /** Time until another one may begin [ms]. */
  #freeIn({ begun, perSecond }: Connection): number {
    const last = begun.at(-perSecond)
    return last === undefined ? 0 : Math.max(0, last + SECOND_MS - this.#options.now())
  }

  #serve(one: Connection): void {
    if (one.isTimed) return
    while (one.waiting.length > 0) {
      const waitMs = this.#freeIn(one)
      if (waitMs > 0) {
        one.isTimed = true
        this.#options.later(() => {
          one.isTimed = false
          this.#serve(one)
        }, waitMs)
        return
      }
      const { isWanted, go } = one.waiting.shift()!
      const may = isWanted()
      if (may) {
        one.begun.push(this.#options.now())
        if (one.begun.length > one.perSecond) one.begun.splice(0, one.begun.length - one.perSecond)
      }
      go(may)
    }
  }
}
