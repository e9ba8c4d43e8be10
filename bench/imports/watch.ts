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
  /** How long answers took, ascending [ms]. */
  rest: number[]
  /** From INVITE to 200 OK, ascending [ms]. */
  calls: number[]
  /** Neither answered well, while control was there. */
  failures: string[]
}

/** What an import costs everybody else: the peak of control's memory, the disk, and how long others wait. */
export class Watch {
  /** Of each control process there was [bytes]. */
  maxRss = 0
  maxWal = 0
  readonly #product: Product
  readonly #loops: Promise<void>[]
  readonly #phone: Phone
  #beside: Beside = { rest: [], calls: [], failures: [] }
  #isOver = false
  /** Counts how often control was taken away: what spans such a moment tells nothing. */
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

  /** What was seen since the last time. */
  take(): Beside {
    const { rest, calls, failures } = this.#beside
    this.#beside = { rest: [], calls: [], failures: [] }
    const ascending = (values: number[]) => values.sort((a, b) => a - b)
    return { rest: ascending(rest), calls: ascending(calls), failures }
  }

  /** Control is killed with -9; resolves when the next one serves. */
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

  /** Who begins when control is there, and ends before it was taken away, is counted. */
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

/** Null: it took too long. What is said while control dies may be answered by nobody. */
const within = <T>(promise: Promise<T>): Promise<T | null> =>
  Promise.race([promise, sleep(PATIENCE_MS, null, { ref: false })])

/** proc(5): VmHWM, the most that it ever had, stands in kB. */
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
