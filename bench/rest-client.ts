import { setTimeout as sleep } from 'node:timers/promises'

/** Bounds of the pause between two polls, an eighth of the time waited so far: a long wait must not keep the machine busy. */
const POLL_MS = { least: 30, most: 250 }
/** Time limit for a condition, on a machine that may be busy with other things. */
const PATIENCE_MS = 30_000

// biome-ignore lint/suspicious/noExplicitAny: its users read bodies of every shape
type Json = any

export interface ApiAnswer {
  status: number
  headers: Headers
  /** Parsed JSON; null: the answer was none. */
  body: Json
}

interface ApiOptions {
  key?: string
  headers?: Record<string, string>
}

/** A minimal client of the REST API. */
export class RestClient {
  /** Without `/v1`. */
  readonly baseUrl: string
  readonly liveKey: string

  constructor(baseUrl: string, liveKey: string) {
    this.baseUrl = baseUrl
    this.liveKey = liveKey
  }

  /** Sends a request, with the live key unless another is given. `path`: what follows `/v1`. */
  async api(method: string, path: string, body?: unknown, options: ApiOptions = {}): Promise<ApiAnswer> {
    const response = await this.#fetch(method, path, body, options)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : null }
  }

  /** Sends a request that must succeed, and returns the answer's body. Throws with the error if it fails. */
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

  /** Repeats `probe` until it returns something other than null or undefined. */
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
