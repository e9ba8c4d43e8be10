import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { revisionOf } from '../kernel/store/shortcut.ts'
import type { Store } from '../kernel/store/store.ts'
import type { Route } from './route.ts'

/** Of all answers and what they are found by, in characters; those that were asked for longest ago go first. */
const MAX_LENGTH = 4 * 1024 * 1024

interface Answer {
  revision: number
  json: string
}

/** An answer that was not remembered: under which name, and since when it is one. */
export interface Slot {
  name: string
  revision: number
}

/**
 * Answers of routes that say which tables they read (`Route.reads`), for the same request of the same organisation. Before one is given again
 * the store is asked whether something was written to these tables since: if so, it is read anew. SQLite only; of PostgreSQL, which others
 * write to, nothing is remembered.
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

  /** The JSON that answers this request; or where it can be remembered; null: nowhere. */
  find({ reads }: Route, { context, url }: FastifyRequest): string | Slot | null {
    if (reads === undefined || context === null) return null
    const revision = revisionOf(this.#db, reads)
    if (revision === null) return null
    const name = `${context.organisationId} ${context.livemode} ${context.apiVersion} ${url}`
    const kept = this.#kept.get(name)
    return kept !== undefined && kept.revision === revision ? kept.json : { name, revision }
  }

  /** What was read for the slot, unless something was written meanwhile. */
  keep({ reads = [] }: Route, { name, revision }: Slot, json: string): void {
    if (revisionOf(this.#db, reads) === revision) this.#kept.set(name, { revision, json })
  }
}
