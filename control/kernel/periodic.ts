import type { Logger } from 'pino'
import { StoreOutage } from './store/outage.ts'

export interface PeriodicParts {
  /** For the log. */
  name: string
  /** Time between the end of a run and the next one. */
  everyMs: number
  /** Time before the first run; absent: `everyMs`. With a long interval, a process that restarts often would otherwise never run it. */
  firstMs?: number
  run: () => Promise<unknown>
  log: Logger
  /** Runs `task` after `ms`; the returned function cancels it. */
  later?: (task: () => void, ms: number) => () => void
}

/** A recurring duty that never runs twice at once. A failed run is logged, and the next one follows as usual. */
export class Periodic {
  readonly #parts: PeriodicParts
  #forget: () => void = () => {}
  #running: Promise<void> = Promise.resolve()
  #closed = false
  /** A run is to follow that has not begun. */
  #isHurried = false
  readonly #outage: StoreOutage

  constructor(parts: PeriodicParts) {
    this.#parts = parts
    this.#outage = new StoreOutage(parts.log)
  }

  /** The last run found the store unavailable. */
  get isStoreAway(): boolean {
    return this.#outage.isOn
  }

  start(): void {
    const { everyMs, firstMs = everyMs } = this.#parts
    this.#runIn(firstMs)
  }

  /** The next run follows at once, or the one that is under way: one, however often this is asked meanwhile. Resolves when it has ended. */
  hurry(): Promise<void> {
    if (!this.#isHurried) this.#running = this.#running.then(() => this.#runOnce())
    this.#isHurried = true
    return this.#running
  }

  #runIn(ms: number): void {
    const { later = afterMs } = this.#parts
    this.#forget()
    this.#forget = later(() => this.hurry(), ms)
  }

  async #runOnce(): Promise<void> {
    const { name, everyMs, run, log } = this.#parts
    this.#isHurried = false
    if (this.#closed) return
    try {
      await run()
      this.#outage.over({ duty: name })
    } catch (error) {
      if (!this.#outage.note(error, { duty: name })) log.error({ err: error, duty: name }, 'a periodic duty failed')
    }
    if (!this.#closed) this.#runIn(everyMs)
  }

  /** Resolves when the current run has ended; none follows. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    this.#forget()
    await this.#running
  }
}

export function afterMs(task: () => void, ms: number): () => void {
  const timer = setTimeout(task, ms)
  return () => clearTimeout(timer)
}
