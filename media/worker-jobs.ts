import { type TransferListItem as Transferable, Worker } from 'node:worker_threads'
import type { WorkerEntry } from './worker-entry.ts'

/** Jobs that may wait unless the owner says otherwise; a further one is refused. */
const DEFAULT_MAX_WAITING = 10_000
/** Enough for any job, little enough that a runaway one cannot take the machine down [MB]. */
const MAX_HEAP_MB = 256

export interface JobRequest<Q> {
  id: number
  job: Q
}

export interface JobReply<A> {
  id: number
  answer: A
}

/** Runs jobs one after the other on a thread of its own, started with the first job. When the thread dies, the next job starts another. */
export class WorkerJobs<Q, A> {
  /** Jobs that found the queue full, or whose thread died. */
  lost = 0

  readonly #entry: WorkerEntry
  readonly #maxWaiting: number
  readonly #pending = new Map<number, (answer: A | { error: string }) => void>()
  #worker: Worker | null = null
  #nextId = 1
  #isClosed = false

  /** @param entry module that answers every `JobRequest` by a `JobReply` */
  constructor(entry: WorkerEntry, options: { maxWaiting?: number } = {}) {
    this.#entry = entry
    this.#maxWaiting = options.maxWaiting ?? DEFAULT_MAX_WAITING
  }

  /** Jobs that were not answered yet. */
  get waiting(): number {
    return this.#pending.size
  }

  /** `moved`: memory that is handed over with the job. What the job answered; `{ error }` when it could not be run. Never rejects. */
  run(job: Q, moved: readonly Transferable[] = []): Promise<A | { error: string }> {
    if (this.#isClosed) return Promise.resolve({ error: 'closed' })
    if (this.#pending.size >= this.#maxWaiting) {
      this.lost++
      return Promise.resolve({ error: 'too many jobs wait' })
    }
    return new Promise(resolve => {
      const id = this.#nextId++
      this.#pending.set(id, resolve)
      this.#worker ??= this.#start()
      this.#worker.ref()
      this.#worker.postMessage({ id, job } satisfies JobRequest<Q>, moved)
    })
  }

  /** Ends the thread; jobs that wait are answered by `{ error }`. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(this.#entry.url, {
      execArgv: this.#entry.execArgv,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    })
    let reason = 'the thread ended'
    worker.on('message', ({ id, answer }: JobReply<A>) => {
      this.#pending.get(id)?.(answer)
      this.#pending.delete(id)
      // An idle thread must not keep the process alive.
      if (this.#pending.size === 0) worker.unref()
    })
    worker.on('error', error => {
      reason = error.message
    })
    worker.on('exit', () => {
      this.#worker = null
      this.lost += this.#pending.size
      for (const resolve of this.#pending.values()) resolve({ error: reason })
      this.#pending.clear()
    })
    return worker
  }
}
