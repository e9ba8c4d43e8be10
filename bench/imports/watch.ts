import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Phone } from '../phone/phone.ts'
import type { PhoneCall } from '../phone/phone-call.ts'
import type { Product } from '../product.ts'

const LOOK_MS = 100
const CALL_EVERY_MS = 500
const ECHO = '1002'
const PATIENCE_MS = 10_000

export interface Beside {
  /** Durations of REST requests, ascending [ms]. */
  rest: number[]
  /** From INVITE to 200 OK, ascending [ms]. */
  calls: number[]
  /** Requests and calls that failed while control was running. */
  failures: string[]
}

/** What an import costs besides: the peak of control's memory, disk space, and how long other requests and calls take. */
export class Watch {
  /** Maxima over all control processes so far [bytes]. */
  maxRss = 0
  maxWal = 0
  readonly #product: Product
  readonly #loops: Promise<void>[]
  readonly #phone: Phone
  #beside: Beside = { rest: [], calls: [], failures: [] }
  #isOver = false
  /** How often control was killed: a measurement during which that happened does not count. */
  #gone = 0
  #isThere = true

  private constructor(product: Product, phone: Phone, key: string) {
    this.#product = product
    this.#phone = phone
    this.#loops = [this.#look(), this.#ask(key), this.#call()]
  }

  static async start(product: Product): Promise<Watch> {
    const { secret } = await product.ok('POST', '/api_keys', { name: 'beside', mode: 'live' })
    return new Watch(product, await Phone.open('beside'), secret)
  }

  /** The measurements since the last call. */
  take(): Beside {
    const { rest, calls, failures } = this.#beside
    this.#beside = { rest: [], calls: [], failures: [] }
    const ascending = (values: number[]) => values.sort((a, b) => a - b)
    return { rest: ascending(rest), calls: ascending(calls), failures }
  }

  /** Kills control with SIGKILL; resolves when the next one serves. */
  async kill(): Promise<void> {
    this.#isThere = false
    this.#gone++
    const { control } = this.#product.pids
    process.kill(control, 'SIGKILL')
    await this.#product.until('another control', async () => (this.#product.pids.control === control ? null : true))
    await this.#product.ready()
    this.#isThere = true
  }

  async close(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#loops)
    await this.#phone.close()
  }

  /** Measures something, which counts if control was running from its beginning to its end. */
  async #measure(into: 'rest' | 'calls', run: () => Promise<string | null>): Promise<void> {
    if (!this.#isThere) return
    const gone = this.#gone
    const began = performance.now()
    const failure = await run().catch(String)
    if (gone !== this.#gone) return
    if (failure === null) this.#beside[into].push(performance.now() - began)
    else this.#beside.failures.push(failure)
  }

  async #ask(key: string): Promise<void> {
    for (; !this.#isOver; await sleep(LOOK_MS)) {
      await this.#measure('rest', async () => {
        const { status } = await this.#product.api('GET', '/calls?limit=20', undefined, { key })
        return status === 200 ? null : `GET /calls answered ${status}`
      })
    }
  }

  async #call(): Promise<void> {
    for (; !this.#isOver; await sleep(CALL_EVERY_MS)) {
      let call: PhoneCall | null = null
      await this.#measure('calls', async () => {
        call = await this.#phone.dial(ECHO, this.#product.sip)
        const outcome = await within(call.outcome)
        return outcome?.status === 200 ? null : `a call was answered ${outcome?.status ?? 'by nobody'}`
      })
      await within((call as PhoneCall | null)?.hangup().catch(() => {}) ?? Promise.resolve())
    }
  }

  async #look(): Promise<void> {
    for (; !this.#isOver; await sleep(LOOK_MS)) {
      this.maxRss = Math.max(this.maxRss, peakBytes(this.#product.pids.control))
      this.maxWal = Math.max(this.maxWal, bytesOf(join(this.#product.dataDir, 'tandem.db-wal')))
    }
  }
}

/** Null: it took too long, since nobody may answer what was sent while control was killed. */
const within = <T>(promise: Promise<T>): Promise<T | null> =>
  Promise.race([promise, sleep(PATIENCE_MS, null, { ref: false })])

/** Peak of the resident memory: VmHWM of proc(5), which is in kB. */
export function peakBytes(pid: number): number {
  try {
    return 1024 * Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

export function bytesOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
