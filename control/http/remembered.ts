import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { revisionOf } from '../kernel/store/shortcut.ts'
import type { Store } from '../kernel/store/store.ts'
import type { Route } from './route.ts'

/** Total length of the cached answers and their keys, in characters; the least recently used go first. */
const MAX_LENGTH = 4 * 1024 * 1024

interface Answer {
  revision: number
  json: string
}

/** A place for an answer that was not cached: its name, and the store's revision when it was read. */
export interface Slot {
  name: string
  revision: number
}

/**
 * Caches answers of routes that declare their tables (`Route.reads`), per organisation and request. Before a cached answer is used, the store is asked
 * whether these tables have been written since; if so, they are read again. SQLite only: with PostgreSQL, which others write to, nothing is cached.
 */
export class RememberedAnswers {
  readonly #db: Store['db']
  readonly #kept = new LRUCache<string, Answer>({
    maxSize: MAX_LENGTH,
    sizeCalculation: ({ json }, name) => json.length + name.length,
  })

  constructor({ db }: Store) {
    this.#db = db
  }

  /** The cached JSON for this request, or the slot to cache it in; null: it cannot be cached. */
  find({ reads }: Route, { context, url }: FastifyRequest): string | Slot | null {
    if (reads === undefined || context === null) return null
    const revision = revisionOf(this.#db, reads)
    if (revision === null) return null
    const name = `${context.organisationId} ${context.livemode} ${context.apiVersion} ${url}`
    const kept = this.#kept.get(name)
    return kept !== undefined && kept.revision === revision ? kept.json : { name, revision }
  }

  /** Caches what was read for the slot, unless the tables were written meanwhile. */
  keep({ reads = [] }: Route, { name, revision }: Slot, json: string): void {
    if (revisionOf(this.#db, reads) === revision) this.#kept.set(name, { revision, json })
  }
}
