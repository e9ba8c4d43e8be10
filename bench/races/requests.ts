import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiAnswer, RestClient } from '../rest-client.ts'

/** One request that was sent in a round, and what was answered. */
export interface Sent {
  /** Since the round began. */
  atMs: number
  tookMs: number
  line: string
  body: unknown
  key: string | null
  status: number
  answer: ApiAnswer['body']
  replayed: boolean
  requestId: string | null
}

/** Sends the requests of one round, some of them twice, and keeps the answers. */
export class Requests {
  readonly sent: Sent[] = []
  readonly #rest: RestClient
  readonly #random: () => number
  readonly #began = performance.now()
  #keys = 0
  readonly #round: string

  constructor(rest: RestClient, random: () => number, round: string) {
    this.#rest = rest
    this.#random = random
    this.#round = round
  }

  async send(method: string, path: string, body?: unknown, key: string | null = null): Promise<Sent> {
    const atMs = performance.now() - this.#began
    const headers: Record<string, string> = key === null ? {} : { 'idempotency-key': key }
    const answer = await this.#rest
      .api(method, path, body, { headers })
      .catch(error => ({ status: 0, headers: new Headers(), body: { error: String((error as Error).cause ?? error) } }))
    const sent: Sent = {
      ...{ atMs, tookMs: performance.now() - this.#began - atMs, line: `${method} ${path}`, body, key },
      ...{ status: answer.status, answer: answer.body },
      replayed: answer.headers.get('idempotent-replayed') === 'true',
      requestId: answer.headers.get('request-id'),
    }
    this.sent.push(sent)
    return sent
  }

  /** Sends it once, or twice at the same time: without a key, with the same one, or with the same one and another body. */
  async race(method: string, path: string, body?: unknown, other?: unknown): Promise<Sent> {
    const draw = this.#random()
    if (method === 'GET' || draw < 0.5) return this.send(method, path, body, draw < 0.25 ? null : this.#key())
    const gap = this.#random() < 0.5 ? 0 : this.#random() * 20
    const key = draw < 0.65 ? null : this.#key()
    const first = this.send(method, path, body, key)
    if (gap > 0) await sleep(gap)
    const second = this.send(method, path, draw > 0.9 && other !== undefined ? other : body, key)
    const [one] = await Promise.all([first, second])
    return one
  }

  #key(): string {
    return `${this.#round}-${++this.#keys}`
  }
}
