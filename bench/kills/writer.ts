import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiAnswer, RestClient } from '../rest-client.ts'

/** Between two writes of one client: what the rate limit leaves them all. */
const PACE_MS = 40
const RETRY_MS = 20
/** A write that nobody answers for so long is a failure of the product. */
const PATIENCE_MS = 60_000
const DAY_MS = 24 * 60 * 60 * 1000

/** One write as the client sees it. */
export interface Write {
  key: string
  body: { phone: string; name: string; due_at: string }
  /** The first answer that came. */
  answer: ApiAnswer
  /** It was asked again, since the answer was lost. */
  wasRetried: boolean
}

/** Clients that book callbacks, each with a key of its own, and ask again with the same key until they have an answer. */
export class Writers {
  readonly acknowledged: Write[] = []
  readonly problems: string[] = []
  readonly #rest: RestClient
  readonly #clients: Promise<void>[]
  #isStopping = false
  #made = 0

  constructor(rest: RestClient, clients: number) {
    this.#rest = rest
    this.#clients = Array.from({ length: clients }, () => this.#run())
  }

  /** Resolves when every write that was begun has its answer. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#clients)
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const n = this.#made++
      const phone = `+97250${String(1_000_000 + n)}`
      const due = new Date(Date.now() + DAY_MS).toISOString()
      const key = randomUUID()
      const body = { phone, name: `client ${n}`, due_at: due }
      const write = await this.#write(key, body)
      if (write === null) return
      this.acknowledged.push(write)
      await sleep(PACE_MS)
    }
  }

  async #write(key: string, body: Write['body']): Promise<Write | null> {
    const limit = performance.now() + PATIENCE_MS
    for (let tries = 0; performance.now() < limit; tries++) {
      const answer = await post(this.#rest, key, body)
      if (answer !== null && answer.status < 300) return { key, body, answer, wasRetried: tries > 0 }
      // Gone with its process, not there yet, still held by the process that died, or too fast.
      if (answer === null || [409, 429, 503].includes(answer.status)) await sleep(RETRY_MS)
      else {
        this.problems.push(`a write was answered ${answer.status} ${JSON.stringify(answer.body)}`)
        return null
      }
    }
    this.problems.push(`a write got no answer within ${PATIENCE_MS / 1000} s`)
    return null
  }
}

/** Null: no answer came. */
export const post = (rest: RestClient, key: string, body: object): Promise<ApiAnswer | null> =>
  rest.api('POST', '/callbacks', body, { headers: { 'idempotency-key': key } }).catch(() => null)
