import type { Store } from '../kernel/store/store.ts'
import { type Attempted, recordAttempts } from './attempt.ts'

interface Waiting {
  attempted: Attempted
  resolve: (status: string) => void
  reject: (error: unknown) => void
}

/** Attempts of one transaction: others wait for the database while it lasts. */
const MOST_TOGETHER = 32

/**
 * Writes the outcomes of attempts. Outcomes that arrive during a write are written together after it. So a single attempt does not
 * wait, and under load there is no commit for each.
 */
export class Outcomes {
  readonly #store: Store
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(store: Store) {
    this.#store = store
  }

  /** Resolves to the status of the delivery once it is committed. */
  record(attempted: Attempted): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ attempted, resolve, reject })
      if (!this.#isWriting) void this.#write()
    })
  }

  async #write(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) await this.#writeSome(this.#waiting.splice(0, MOST_TOGETHER))
    this.#isWriting = false
  }

  async #writeSome(some: readonly Waiting[]): Promise<void> {
    try {
      const statuses = await recordAttempts(
        this.#store,
        some.map(({ attempted }) => attempted),
      )
      for (const [i, { resolve }] of some.entries()) resolve(statuses[i]!)
    } catch (error) {
      // If there are several, it is unknown which one it was.
      if (some.length > 1) for (const one of some) await this.#writeSome([one])
      else some[0]!.reject(error)
    }
  }
}
