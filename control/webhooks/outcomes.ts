import type { Store } from '../kernel/store/store.ts'
import { type Attempted, recordAttempts } from './attempt.ts'

interface Waiting {
  attempted: Attempted
  resolve: (status: string) => void
  reject: (error: unknown) => void
}

/** Maximum number of attempts per transaction, since others wait for the database while it lasts. */
const MOST_TOGETHER = 32
/** How long outcomes are gathered [ms], and how many are enough: that is as many as one endpoint may have at a time. */
const GATHER_MS = 20
const ENOUGH = 8

/**
 * Stores the outcomes of attempts. Those that arrive within some milliseconds, or during a write, are stored together, which saves a commit
 * and a look for due deliveries for each.
 */
export class Outcomes {
  readonly #store: Store
  #waiting: Waiting[] = []
  /** It is writing, or about to. */
  #isBusy = false
  #begin: (() => void) | null = null

  constructor(store: Store) {
    this.#store = store
  }

  /** Resolves to the status of the delivery once it is committed. */
  record(attempted: Attempted): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ attempted, resolve, reject })
      if (!this.#isBusy) void this.#write()
      if (this.#waiting.length >= ENOUGH) this.#begin?.()
    })
  }

  async #write(): Promise<void> {
    this.#isBusy = true
    await this.#gathered()
    while (this.#waiting.length > 0) await this.#writeSome(this.#waiting.splice(0, MOST_TOGETHER))
    this.#isBusy = false
  }

  async #gathered(): Promise<void> {
    const timer = await new Promise<NodeJS.Timeout>(resolve => {
      const later = setTimeout(() => resolve(later), GATHER_MS)
      this.#begin = () => resolve(later)
    })
    clearTimeout(timer)
    this.#begin = null
  }

  async #writeSome(some: readonly Waiting[]): Promise<void> {
    try {
      const statuses = await recordAttempts(
        this.#store,
        some.map(({ attempted }) => attempted),
      )
      for (const [i, { resolve }] of some.entries()) resolve(statuses[i]!)
    } catch (error) {
      // With several, it is unknown which one failed, so each is written alone.
      if (some.length > 1) for (const one of some) await this.#writeSome([one])
      else some[0]!.reject(error)
    }
  }
}
