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
  readonly #maxJobMs: (() => number) | null
  /** Runs while a job does. */
  #watch: NodeJS.Timeout | undefined
  readonly #pending = new Map<number, (answer: A | { error: string }) => void>()
  #worker: Worker | null = null
  #nextId = 1
  #isClosed = false

  /**
   * @param entry module that answers every `JobRequest` by a `JobReply`
   * @param options `maxJobMs`: asked for each job; a thread that takes longer is ended, and those that wait for it fail [ms]
   */
  constructor(entry: WorkerEntry, options: { maxWaiting?: number; maxJobMs?: () => number } = {}) {
    this.#entry = entry
    this.#maxJobMs = options.maxJobMs ?? null
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
      if (this.#pending.size === 1) this.#watchJob(this.#worker)
    })
  }

  #watchJob(worker: Worker): void {
    clearTimeout(this.#watch)
    if (this.#maxJobMs === null || this.#pending.size === 0) return
    this.#watch = setTimeout(() => void worker.terminate(), this.#maxJobMs()).unref()
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
      this.#watchJob(worker)
      // An idle thread must not keep the process alive.
      if (this.#pending.size === 0) worker.unref()
    })
    worker.on('error', error => {
      reason = error.message
    })
    worker.on('exit', () => {
      clearTimeout(this.#watch)
      this.#worker = null
      this.lost += this.#pending.size
      for (const resolve of this.#pending.values()) resolve({ error: reason })
      this.#pending.clear()
    })
    return worker
  }
}
