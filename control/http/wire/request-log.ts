import type { Logger } from 'pino'
import { forgetOld } from '../../kernel/jobs/forget.ts'
import { insertRows } from '../../kernel/store/compiled.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { RequestLogRow } from '../../kernel/store/tables.ts'

/** Entries waiting to be written; beyond that the newest is dropped and counted. */
const MAX_WAITING = 5000
/** Maximum entries of one INSERT: SQLite takes 32,766 parameters at once, PostgreSQL 65,535. */
const BATCH = 256
const FLUSH_AFTER_MS = 500
const KEPT_MS = 7 * 24 * 60 * 60 * 1000
const MAX_KEPT = 500_000

interface RequestLogParts {
  store: Store
  log: Logger
  maxWaiting?: number
}

/**
 * The requests to the API and the statuses of their answers, without parameters and bodies, which may include PINs and keys. Written after the answers, in
 * batches, so that no request waits for it: a process that is killed loses the last half second. Kept for seven days, the latest 500,000 at most.
 */
export class RequestLog {
  readonly counters = { written: 0, leftOut: 0 }
  readonly #parts: RequestLogParts
  #waiting: RequestLogRow[] = []
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> = Promise.resolve()

  constructor(parts: RequestLogParts) {
    this.#parts = parts
  }

  add(entry: RequestLogRow): void {
    if (this.#waiting.length >= (this.#parts.maxWaiting ?? MAX_WAITING)) {
      this.counters.leftOut++
      return
    }
    this.#waiting.push(entry)
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_AFTER_MS).unref()
  }

  /** Resolves when everything added so far has been written, or could not be. */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    const { store, log } = this.#parts
    while (this.#waiting.length > 0) {
      // A few batch sizes only: each is compiled once.
      const size = Math.min(BATCH, 2 ** Math.floor(Math.log2(this.#waiting.length)))
      const batch = this.#waiting.splice(0, size)
      try {
        await insertRows(store.db, 'request_logs', batch)
        this.counters.written += batch.length
      } catch (error) {
        this.counters.leftOut += batch.length
        log.warn({ err: error, entries: batch.length }, 'requests were not logged')
      }
    }
  }
}

/** Deletes what is kept no longer. To be called regularly. */
export async function forgetRequests(store: Store, now: Date, maxKept = MAX_KEPT): Promise<void> {
  await forgetOld(store, 'request_logs', 'created', new Date(now.getTime() - KEPT_MS).toISOString())
  const rest = store.db.selectFrom('request_logs').select('id').orderBy('id', 'desc').offset(maxKept).limit(1)
  const newest = await rest.executeTakeFirst()
  if (newest !== undefined) await forgetOld(store, 'request_logs', 'id', newest.id)
}

const ID = /^[a-z]{1,12}_[0-9a-z]{26}$/

/** The path of a request with its IDs. Anything that is not an ID is omitted, because it may be a secret. */
export function loggedPath(pattern: string): (params: unknown) => string {
  // For `/calls/:id/streams`: the text before each name, the name, and the rest.
  const pieces = pattern.split(/:([a-z_]+)/)
  return params =>
    pieces.reduce((path, piece, i) => {
      if (i % 2 === 0) return path + piece
      const value = (params as Record<string, unknown> | null)?.[piece]
      return path + (typeof value === 'string' && ID.test(value) ? value : `{${piece}}`)
    }, '')
}
