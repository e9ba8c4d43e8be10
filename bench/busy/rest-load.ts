import { setTimeout as sleep } from 'node:timers/promises'
import type { RestClient } from '../rest-client.ts'

/** Pause after a 429. `Retry-After` has whole seconds, but the next request is allowed earlier [ms]. */
const REFUSED_WAIT_MS = 100

export interface RestFigures {
  /** Successful requests, reads and writes. */
  perSecond: number
  /** Requests that were refused with 429, since a loop exceeded its key's rate limit. */
  refused: number
}

/** Clients that send the next request as soon as they have an answer, each with its own key. */
export class RestLoad {
  readonly #api: RestClient
  readonly #loops: Promise<void>[]
  #isOver = false
  #answered = 0
  #refused = 0
  #since = performance.now()

  private constructor(api: RestClient, keys: string[]) {
    this.#api = api
    this.#loops = keys.map((key, loop) => this.#run(key, loop))
  }

  static async start(api: RestClient, loops: number): Promise<RestLoad> {
    const keys: string[] = []
    for (let loop = 0; loop < loops; loop++) {
      keys.push((await api.ok('POST', '/api_keys', { name: `bench-${loop}`, mode: 'live' })).secret)
    }
    return new RestLoad(api, keys)
  }

  /** Starts to count anew. */
  begin(): void {
    this.#answered = 0
    this.#refused = 0
    this.#since = performance.now()
  }

  get figures(): RestFigures {
    return { perSecond: (this.#answered * 1000) / (performance.now() - this.#since), refused: this.#refused }
  }

  /** Resolves when the last answer has arrived. Throws the error of a loop that failed. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#loops)
  }

  /** Repeats: lists calls, creates a callback, reads that callback, lists callbacks. */
  async #run(key: string, loop: number): Promise<void> {
    // In a month, so that nobody is called meanwhile.
    const due_at = new Date(Date.now() + 30 * 86_400_000).toISOString()
    for (let round = 0; !this.#isOver; round++) {
      await this.#ask(key, 'GET', '/calls?limit=20')
      const phone = `+97254${1_000_000 + loop * 100_000 + (round % 100_000)}`
      const made = await this.#ask(key, 'POST', '/callbacks', { phone, due_at })
      if (made !== null) await this.#ask(key, 'GET', `/callbacks/${made.id}`)
      await this.#ask(key, 'GET', '/callbacks?limit=20')
    }
  }

  async #ask(key: string, method: string, path: string, body?: object): Promise<{ id: string } | null> {
    const answer = await this.#api.api(method, path, body, { key })
    if (answer.status === 429) {
      this.#refused++
      await sleep(REFUSED_WAIT_MS)
      return null
    }
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}`)
    this.#answered++
    return answer.body
  }
}
