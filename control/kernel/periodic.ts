import type { Logger } from 'pino'
import { StoreOutage } from './store/outage.ts'

export interface PeriodicParts {
  /** For the log. */
  name: string
  /** Between the end of a run and the next one. */
  everyMs: number
  /** Before the first run; absent: as between two. A long duty of a process that is often restarted would else never come. */
  firstMs?: number
  run: () => Promise<unknown>
  log: Logger
  /** Runs `task` after `ms`; what it returns forgets it. */
  later?: (task: () => void, ms: number) => () => void
}

/** A duty that comes again and again, never twice at once; a run that fails is logged, and the next one comes all the same. */
export class Periodic {
  readonly #parts: PeriodicParts
  #forget: () => void = () => {}
  #running: Promise<void> = Promise.resolve()
  #closed = false
  readonly #outage: StoreOutage

  constructor(parts: PeriodicParts) {
    this.#parts = parts
    this.#outage = new StoreOutage(parts.log)
  }

  start(): void {
    const { everyMs, firstMs = everyMs } = this.#parts
    this.#runIn(firstMs)
  }

  #runIn(ms: number): void {
    const { later = afterMs } = this.#parts
    this.#forget = later(() => {
      this.#running = this.#runOnce()
    }, ms)
  }

  async #runOnce(): Promise<void> {
    const { name, everyMs, run, log } = this.#parts
    try {
      await run()
      this.#outage.over({ duty: name })
    } catch (error) {
      if (!this.#outage.note(error, { duty: name })) log.error({ err: error, duty: name }, 'a periodic duty failed')
    }
    if (!this.#closed) this.#runIn(everyMs)
  }

  /** Resolves when a run that is under way has ended; none comes after it. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    this.#forget()
    await this.#running
  }
}

function afterMs(task: () => void, ms: number): () => void {
  const timer = setTimeout(task, ms)
  return () => clearTimeout(timer)
}
