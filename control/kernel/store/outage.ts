import { faultOf } from './faults.ts'

/** Interval of log lines about one outage [ms]. */
const SAY_EVERY_MS = 60_000

interface Log {
  warn(fields: object, message: string): void
}

/** It cannot be reached or written; the request was fine. */
export const isOutage = (error: unknown): boolean => faultOf(error) === 'outage'

/** Logs an outage of the store for one place: once a minute, however often it is noticed, and once when it is over. */
export class StoreOutage {
  readonly counters = { storeOutages: 0 }
  readonly #log: Log
  readonly #now: () => number
  #isOn = false
  #saidAt = Number.NEGATIVE_INFINITY

  /** @param now monotonic [ms] */
  constructor(log: Log, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  get isOn(): boolean {
    return this.#isOn
  }

  /** Logs an error if it is an outage; false: it is another error, which the caller must report. */
  note(error: unknown, fields: object = {}): boolean {
    if (!isOutage(error)) return false
    if (!this.#isOn) this.counters.storeOutages++
    this.#isOn = true
    if (this.#now() - this.#saidAt < SAY_EVERY_MS) return true
    this.#saidAt = this.#now()
    this.#log.warn({ err: error, ...fields }, 'the store cannot be reached or written: what is to be done waits')
    return true
  }

  /** Something was written or read successfully. */
  over(fields: object = {}): void {
    if (!this.#isOn) return
    this.#isOn = false
    this.#log.warn(fields, 'the store is back')
  }
}
