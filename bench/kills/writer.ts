import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiAnswer, RestClient } from '../rest-client.ts'
import { KINDS, type Kind } from './kinds.ts'

/** Pause between two writes of a client, so that all together stay below the rate limit. */
const PACE_MS = 40
const RETRY_MS = 20
/** A write that is not answered within this time counts as a failure of the product. */
const PATIENCE_MS = 60_000

/** A write as its client saw it. */
interface Write {
  kind: Kind
  /** The value that distinguishes it from all other writes of its kind. */
  mark: string
  key: string
  body: object
  /** The first answer that arrived. */
  answer: ApiAnswer
  /** Whether the request was sent again because its answer was lost. */
  wasRetried: boolean
}

/** Clients that write, each time with a new key, and repeat a request with the same key until they have an answer. */
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

  /** Resolves when every write that was begun is answered. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#clients)
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const n = this.#made++
      const kind = KINDS[n % KINDS.length]!
      const write = await this.#write(kind, n)
      if (write === null) return
      this.acknowledged.push(write)
      await sleep(PACE_MS)
    }
  }

  async #write(kind: Kind, n: number): Promise<Write | null> {
    const mark = kind.mark(n)
    const [key, body] = [randomUUID(), kind.body(mark)]
    const limit = performance.now() + PATIENCE_MS
    for (let tries = 0; performance.now() < limit; tries++) {
      const answer = await post(this.#rest, { kind, key, body })
      if (answer !== null && answer.status < 300) return { kind, mark, key, body, answer, wasRetried: tries > 0 }
      // The process died, does not serve yet, the key is still locked by the process that died, or the rate limit was hit.
      if (answer === null || [409, 429, 503].includes(answer.status)) await sleep(RETRY_MS)
      else {
        this.problems.push(`a write to ${kind.path} was answered ${answer.status} ${JSON.stringify(answer.body)}`)
        return null
      }
    }
    this.problems.push(`a write to ${kind.path} got no answer within ${PATIENCE_MS / 1000} s`)
    return null
  }
}

/** Sends a write; null: no answer arrived. */
export const post = (
  rest: RestClient,
  { kind, key, body }: Pick<Write, 'kind' | 'key' | 'body'>,
): Promise<ApiAnswer | null> =>
  rest.api('POST', kind.path, body, { headers: { 'idempotency-key': key } }).catch(() => null)
