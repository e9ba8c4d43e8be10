import { stat } from 'node:fs/promises'
import type { Worker } from 'node:worker_threads'
import { startWorker } from '../worker.ts'

/** After a commit, before it is looked whether there is enough to copy: a busy second has two checkpoints [ms]. */
const LOOK_AFTER_MS = 500
/** A smaller log is left alone: SQLite copies it when the database is closed [bytes]. */
const ENOUGH_BYTES = 8 * 2 ** 20

export type ToCheckpointWorker = 'copy' | 'close'

/**
 * Copies what is committed from SQLite's write-ahead log into the database file (https://sqlite.org/wal.html#ckpt), on a thread of its own. A
 * commit that does it copies thousands of pages and syncs both files: it kept everybody waiting for 30 to 80 ms, each second if there were
 * many calls.
 */
export class Checkpoints {
  readonly #file: string
  #timer: NodeJS.Timeout | null = null
  #worker: Worker | null = null
  #isCopying = false
  #isClosed = false

  /** @param file the database file; the log is beside it */
  constructor(file: string) {
    this.#file = file
  }

  /** To be called after each commit. */
  noteCommit(): void {
    if (this.#timer !== null || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.#look()
    }, LOOK_AFTER_MS).unref()
  }

  async #look(): Promise<void> {
    // Its file never shrinks: from some hour on this is true for ever, and small logs are copied too.
    const log = await stat(`${this.#file}-wal`).catch(() => null)
    if (this.#isClosed || this.#isCopying || log === null || log.size < ENOUGH_BYTES) return
    this.#isCopying = true
    this.#worker ??= this.#start()
    this.#tell('copy')
  }

  #start(): Worker {
    const worker = startWorker('control/kernel/store/checkpoint-worker', { workerData: this.#file })
    worker.unref()
    worker.on('message', () => {
      this.#isCopying = false
    })
    // Another one is started when there is something to copy again; until then commits do it, once the log is very long.
    worker.on('error', () => {})
    worker.on('exit', () => {
      this.#worker = null
      this.#isCopying = false
    })
    return worker
  }

  #tell(message: ToCheckpointWorker): void {
    this.#worker?.postMessage(message)
  }

  /** Resolves when nothing is copied any more, and its connection is closed. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer ?? undefined)
    const worker = this.#worker
    if (worker === null) return
    worker.ref()
    // An error comes before the end, and is none for whoever closes: the log is still there.
    const ended = new Promise(resolve => worker.once('exit', resolve))
    this.#tell('close')
    await ended
  }
}
