import type { Worker } from 'node:worker_threads'
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'
import { closeWorker, startWorker } from '../worker.ts'

/** More unanswered questions than this are refused, as a busy database refuses them. */
const MAX_OPEN = 100

export type ToReaderWorker = { id: number; sql: string; parameters: readonly unknown[] } | 'close'
/** `error`: of SQLite, with its code. */
export type FromReaderWorker = { id: number } & ({ rows: unknown[] } | { error: { message: string; code: string } })

interface Question {
  resolve(rows: unknown[]): void
  reject(error: Error): void
}

const failed = (message: string, code: string): Error => Object.assign(new Error(message), { code })

/**
 * A SQLite file on a thread of its own that only reads, for questions about years of rows: they take seconds, in which the thread of calls would
 * stand still. An answer has everything that was committed before the question. Octets arrive as `Uint8Array`.
 */
export class Reader implements Driver, DatabaseConnection {
  readonly #file: string
  readonly #open = new Map<number, Question>()
  #worker: Worker | null = null
  #last = 0
  #isClosed = false

  constructor(file: string) {
    this.#file = file
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#open.size >= MAX_OPEN) throw failed('too many questions to the database at once', 'SQLITE_BUSY')
    const id = ++this.#last
    const answer = new Promise<unknown[]>((resolve, reject) => this.#open.set(id, { resolve, reject }))
    this.#worker ??= this.#start()
    // The process does not end before it has the answer.
    this.#worker.ref()
    this.#worker.postMessage({ id, sql, parameters } satisfies ToReaderWorker)
    return { rows: (await answer) as R[] }
  }

  #start(): Worker {
    const worker = startWorker('control/kernel/store/reader-worker', { workerData: this.#file })
    worker.on('message', (message: FromReaderWorker) => {
      const question = this.#open.get(message.id)
      this.#open.delete(message.id)
      if (this.#open.size === 0 && !this.#isClosed) worker.unref()
      if ('rows' in message) question?.resolve(message.rows)
      else question?.reject(failed(message.error.message, message.error.code))
    })
    let why = 'the thread that reads the database has ended'
    worker.on('error', error => {
      why = error.message
    })
    // The next question starts another one.
    worker.on('exit', () => {
      this.#worker = null
      for (const { reject } of this.#open.values()) reject(failed(why, 'SQLITE_IOERR'))
      this.#open.clear()
    })
    return worker
  }

  /** Resolves when the thread has answered what was asked, and closed its connection. Idempotent. */
  destroy(): Promise<void> {
    this.#isClosed = true
    return closeWorker<ToReaderWorker>(this.#worker, 'close')
  }

  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return this
  }
  async releaseConnection(): Promise<void> {}
  beginTransaction = readsOnly
  commitTransaction = readsOnly
  rollbackTransaction = readsOnly
  streamQuery = readsOnly
}

function readsOnly(): never {
  throw new Error('Long reads have no transactions and no streams.')
}
