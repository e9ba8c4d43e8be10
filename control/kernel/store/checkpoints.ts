import { stat } from 'node:fs/promises'
import type { Worker } from 'node:worker_threads'
import { closeWorker, startWorker } from '../worker.ts'

/** Delay from a commit to the check of the log's size: at most two checkpoints in a second [ms]. */
const LOOK_AFTER_MS = 500
/** Minimum size of a log that is copied; SQLite itself copies a smaller one when the database is closed [bytes]. */
const ENOUGH_BYTES = 8 * 2 ** 20
/** Delay from a commit to the log's end, however short it is: what was deleted is in the log, and in the file until the log is copied [ms]. */
const EMPTY_AFTER_MS = 60_000

export type ToCheckpointWorker = 'copy' | 'empty' | 'close'

/**
 * Copies what is committed from SQLite's write-ahead log into the database file (https://sqlite.org/wal.html#ckpt), on a thread of its own. A
 * commit that triggers such a checkpoint copies thousands of pages and syncs both files, which blocked the process for 30 to 80 ms, every second
 * when there were many calls.
 */
export class Checkpoints {
  readonly #file: string
  readonly #emptyAfterMs: number
  #timer: NodeJS.Timeout | null = null
  #emptyTimer: NodeJS.Timeout | null = null
  #worker: Worker | null = null
  #isCopying = false
  #isClosed = false

  /** @param file the database file; the log is beside it */
  constructor(file: string, emptyAfterMs = EMPTY_AFTER_MS) {
    this.#file = file
    this.#emptyAfterMs = emptyAfterMs
  }

  /** To be called after each commit. */
  noteCommit(): void {
    if (this.#isClosed) return
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      void this.#look()
    }, LOOK_AFTER_MS).unref()
    this.#emptyTimer ??= setTimeout(() => {
      this.#emptyTimer = null
      this.#ask('empty')
    }, this.#emptyAfterMs).unref()
  }

  async #look(): Promise<void> {
    // SQLite never shrinks the file: once it has been this large, short logs in it are copied too.
    const log = await stat(`${this.#file}-wal`).catch(() => null)
    if (this.#isClosed || this.#isCopying || log === null || log.size < ENOUGH_BYTES) return
    this.#ask('copy')
  }

  #ask(message: ToCheckpointWorker): void {
    this.#isCopying = true
    this.#worker ??= this.#start()
    this.#worker.postMessage(message)
  }

  #start(): Worker {
    const worker = startWorker('control/kernel/store/checkpoint-worker', { workerData: this.#file })
    worker.unref()
    worker.on('message', () => {
      this.#isCopying = false
    })
    // The next check starts another worker. Without one, SQLite checkpoints in a commit once the log is very long.
    worker.on('error', () => {})
    worker.on('exit', () => {
      this.#worker = null
      this.#isCopying = false
    })
    return worker
  }

  /** Resolves when the worker has finished copying and closed its connection. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer ?? undefined)
    clearTimeout(this.#emptyTimer ?? undefined)
    // A worker that fails is no error for us: nothing is lost, since the log is still there.
    await closeWorker<ToCheckpointWorker>(this.#worker, 'close')
  }
}
