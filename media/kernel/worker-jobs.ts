import { type TransferListItem as Transferable, Worker } from 'node:worker_threads'
import type { WorkerEntry } from '../protocol/worker-entry.ts'
import { FairQueue } from './fair-queue.ts'

/** Default maximum number of waiting jobs; a further one is refused. */
const DEFAULT_MAX_WAITING = 10_000
/** Enough for any job, and little enough that a runaway one cannot take the machine down [MB]. */
const MAX_HEAP_MB = 256

export interface JobRequest<Q> {
  id: number
  job: Q
}

export interface JobReply<A> {
  id: number
  answer: A
}

interface Waiting<Q, A> {
  job: Q
  moved: readonly Transferable[]
  resolve: (answer: A | { error: string }) => void
}

/**
 * Runs jobs one after the other on its own thread, which starts with the first job. Owners with waiting jobs take turns.
 * A job that kills the thread fails alone: the next one starts another thread.
 */
export class WorkerJobs<Q, A> {
  /** Jobs refused by a full queue, displaced from it by an owner with fewer, or whose thread died. */
  lost = 0

  readonly #entry: WorkerEntry
  readonly #maxJobMs: (() => number) | null
  /** Runs while a job does. */
  #watch: NodeJS.Timeout | undefined
  readonly #queue: FairQueue<Waiting<Q, A>>
  #running: Waiting<Q, A> | null = null
  #worker: Worker | null = null
  #id = 0
  #isClosed = false

  /**
   * @param entry module that answers every `JobRequest` by a `JobReply`
   * @param options `maxWaiting`: with the one that is being done; `maxJobMs`: asked for each job; a thread that takes longer is
   *   ended, and its job fails [ms]
   */
  constructor(entry: WorkerEntry, options: { maxWaiting?: number; maxJobMs?: () => number } = {}) {
    this.#entry = entry
    this.#maxJobMs = options.maxJobMs ?? null
    this.#queue = new FairQueue((options.maxWaiting ?? DEFAULT_MAX_WAITING) - 1)
  }

  /** Unanswered jobs. */
  get waiting(): number {
    return this.#queue.size + (this.#running === null ? 0 : 1)
  }

  /**
   * What the job answered; `{ error }` when it could not be run. Never rejects.
   * @param moved memory that is handed over with the job
   * @param share whose job it is: nobody's turn waits for more than one job of another
   */
  run(job: Q, moved: readonly Transferable[] = [], share = ''): Promise<A | { error: string }> {
    if (this.#isClosed) return Promise.resolve({ error: 'closed' })
    return new Promise(resolve => {
      const waiting = { job, moved, resolve }
      if (this.#running === null) {
        this.#queue.skip(share)
        this.#begin(waiting)
        return
      }
      const left = this.#queue.push(share, waiting)
      if (left === null) return
      this.lost++
      left.resolve({ error: 'too many jobs wait' })
    })
  }

  #begin(next: Waiting<Q, A>): void {
    this.#running = next
    this.#worker ??= this.#start()
    const worker = this.#worker
    worker.ref()
    worker.postMessage({ id: ++this.#id, job: next.job } satisfies JobRequest<Q>, next.moved)
    if (this.#maxJobMs !== null) this.#watch = setTimeout(() => void worker.terminate(), this.#maxJobMs()).unref()
  }

  #next(): void {
    const next = this.#running === null ? this.#queue.shift() : undefined
    if (next !== undefined) this.#begin(next)
  }

  #answer(answer: A | { error: string }): void {
    clearTimeout(this.#watch)
    const done = this.#running
    this.#running = null
    done?.resolve(answer)
  }

  /** Ends the thread; waiting jobs are answered with `{ error }`. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { resolve } of this.#queue.clear()) {
      this.lost++
      resolve({ error: 'closed' })
    }
    await this.#worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(this.#entry.url, {
      execArgv: this.#entry.execArgv,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    })
    let reason = 'the thread ended'
    worker.on('message', ({ id, answer }: JobReply<A>) => {
      if (worker !== this.#worker || id !== this.#id) return
      this.#answer(answer)
      this.#next()
      // An idle thread must not keep the process alive.
      if (this.#running === null) worker.unref()
    })
    worker.on('error', error => {
      reason = error.message
    })
    worker.on('exit', () => {
      this.#worker = null
      if (this.#running !== null) this.lost++
      this.#answer({ error: reason })
      // The requester is told first: the time limit of the next job may depend on it.
      queueMicrotask(() => this.#next())
    })
    return worker
  }
}
