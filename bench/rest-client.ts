import { setTimeout as sleep } from 'node:timers/promises'

/** Pause between two polls: an eighth of the time so far, within these bounds. A long wait must not keep the machine busy. */
const POLL_MS = { least: 30, most: 250 }
/** Time limit for a condition, on a machine that may be busy with other things. */
const PATIENCE_MS = 30_000

// biome-ignore lint/suspicious/noExplicitAny: its users read bodies of every shape
type Json = any

export interface ApiAnswer {
  status: number
  headers: Headers
  /** Parsed JSON; null when there was none. */
  body: Json
}

export interface ApiOptions {
  key?: string
  headers?: Record<string, string>
}

/** A client of the REST API as small as can be. */
export class RestClient {
  /** Without `/v1`. */
  readonly baseUrl: string
  readonly liveKey: string

  constructor(baseUrl: string, liveKey: string) {
    this.baseUrl = baseUrl
    this.liveKey = liveKey
  }

  /** One request; `path` is what follows `/v1`. The live key unless another is given. */
  async api(method: string, path: string, body?: unknown, options: ApiOptions = {}): Promise<ApiAnswer> {
    const response = await this.#fetch(method, path, body, options)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : null }
  }

  /** The body of a request that must succeed. Throws with the answer when it does not. */
  async ok(method: string, path: string, body?: unknown): Promise<Json> {
    const answer = await this.api(method, path, body)
    if (answer.status < 300) return answer.body
    const { type, code, message } = answer.body?.error ?? {}
    throw new Error(`${method} ${path} answered ${answer.status} ${type ?? ''} ${code ?? ''}: ${message ?? ''}`)
  }

  /** The bytes of a file that must be there. */
  async download(path: string): Promise<Buffer> {
    const response = await this.#fetch('GET', path)
    if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}`)
    return Buffer.from(await response.arrayBuffer())
  }

  #fetch(method: string, path: string, body?: unknown, options: ApiOptions = {}): Promise<Response> {
    return fetch(`${this.baseUrl}/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${options.key ?? this.liveKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  /** Asks again and again until `probe` gives something else than null or undefined. */
  async until<T>(what: string, probe: () => Promise<T | null | undefined>, limitMs = PATIENCE_MS): Promise<T> {
    const begun = performance.now()
    for (;;) {
      const value = await probe()
      if (value !== null && value !== undefined) return value
      const waitedMs = performance.now() - begun
      if (waitedMs > limitMs) throw new Error(`not within ${limitMs} ms: ${what}`)
      await sleep(Math.min(Math.max(waitedMs / 8, POLL_MS.least), POLL_MS.most))
    }
  }

  /** Every object of a list, oldest first; lists come newest first and in pages. */
  async all(path: string): Promise<Json[]> {
    const objects = []
    const more = path.includes('?') ? '&' : '?'
    for (let cursor = ''; ; ) {
      const list = await this.ok('GET', `${path}${more}limit=100${cursor}`)
      objects.push(...list.data)
      if (!list.has_more) return objects.reverse()
      cursor = `&starting_after=${encodeURIComponent(list.next_cursor)}`
    }
  }

  /** Every API event of the live mode, oldest first. */
  events(): Promise<Json[]> {
    return this.all('/events')
  }
}
