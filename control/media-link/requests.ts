import type { CommandName, Failure, Reply } from '../../media/protocol.ts'

/** Default deadline of a reply [ms]. */
export const DEFAULT_DEADLINE_MS = 5000
/** Maximum number of requests waiting for a reply; further ones get `unavailable` at once and are counted. */
const MAX_PENDING = 2000

interface Pending {
  resolve: (reply: object) => void
  timer: NodeJS.Timeout
}

export const unavailable = (message: string): Failure => ({ failure: 'unavailable', message })
const unanswered = (message: string): Failure => ({ failure: 'unanswered', message })

/** Requests to the media process that have no reply yet; each has a deadline. */
export class MediaRequests {
  /** Replies that did not arrive in time, and requests beyond the maximum. */
  readonly counters = { deadlines: 0, refused: 0 }
  readonly #pending = new Map<number, Pending>()
  #nextId = 1

  /** Whether no more requests are accepted. */
  get isFull(): boolean {
    return this.#pending.size >= MAX_PENDING
  }

  /** Sends a request by `write`, which gets its ID, and resolves to its reply, or `unanswered`; never rejects. */
  send<N extends CommandName>(write: (id: number) => void, name: N, deadlineMs: number): Promise<Reply<N> | Failure> {
    if (this.isFull) {
      this.counters.refused++
      return Promise.resolve(unavailable('too many requests to the media process'))
    }
    const id = this.#nextId++
    return new Promise(resolve => {
      const timer = setTimeout(() => {
        this.counters.deadlines++
        this.replied(id, unanswered(`${name}: no reply within ${deadlineMs} ms`))
      }, deadlineMs)
      this.#pending.set(id, { resolve: reply => resolve(reply as Reply<N> | Failure), timer })
      write(id)
    })
  }

  /** The other side's reply; one that is no longer expected is ignored. */
  replied(id: number, body: unknown): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    clearTimeout(pending.timer)
    pending.resolve(
      typeof body === 'object' && body !== null ? body : unanswered('the media process sent a reply without a body'),
    )
  }

  /** The channel broke: no reply will come. */
  abandon(): void {
    for (const { resolve, timer } of this.#pending.values()) {
      clearTimeout(timer)
      resolve(unanswered('the channel to the media process broke'))
    }
    this.#pending.clear()
  }
}
