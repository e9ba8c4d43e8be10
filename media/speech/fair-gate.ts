import { FairQueue } from '../kernel/fair-queue.ts'

/** What a gate is for: so many at once, so many behind them, each for so long at most. */
interface GateLimits {
  atOnce: number
  waiting: number
  maxWaitMs: number
}

interface Waiting {
  since: number
  begin(): void
  giveUp(error: string): void
}

/** Lets so many tasks run at once; the others wait for their turn, in which one organisation has no more of it than another. */
export class FairGate {
  readonly #limits: GateLimits
  readonly #now: () => number
  readonly #queue: FairQueue<Waiting>
  #running = 0

  constructor(limits: GateLimits, now: () => number = () => performance.now()) {
    this.#limits = limits
    this.#now = now
    this.#queue = new FairQueue(limits.waiting)
  }

  /** What the task answers; `{ error }` when it could not be begun. */
  async run<A extends object>(share: string, task: () => Promise<A>): Promise<A | { error: string }> {
    const isFree = this.#running < this.#limits.atOnce
    if (isFree) {
      this.#running++
      this.#queue.skip(share)
    }
    const problem = isFree ? null : await this.#turn(share)
    if (problem !== null) return { error: problem }
    try {
      return await task()
    } finally {
      this.#next()
    }
  }

  /** Resolves with null when it is this one's turn, and the place of another is its own. */
  #turn(share: string): Promise<string | null> {
    return new Promise(resolve => {
      const waiting = { since: this.#now(), begin: () => resolve(null), giveUp: resolve }
      this.#queue.push(share, waiting)?.giveUp('too many requests wait')
    })
  }

  #next(): void {
    let next = this.#queue.shift()
    while (next !== undefined && this.#now() - next.since > this.#limits.maxWaitMs) {
      next.giveUp('waited for its turn too long')
      next = this.#queue.shift()
    }
    if (next === undefined) this.#running--
    else next.begin()
  }
}
