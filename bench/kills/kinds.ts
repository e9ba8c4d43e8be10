import BetterSqlite3 from 'better-sqlite3'
import { databaseFile } from '../../control/kernel/data-dir.ts'
import type { Product } from '../product.ts'

// biome-ignore lint/suspicious/noExplicitAny: REST answers of every shape
type Json = any

const DAY_MS = 24 * 60 * 60 * 1000
/** Nobody answers there. */
const SILENT = 'sip:nobody@127.0.0.1:9'

/** A kind of object that clients create, of which a request that was carried out twice would create two. */
export interface Kind {
  /** The path at which it is created and listed. */
  path: string
  /** A value that distinguishes the n-th object from all others of its kind. */
  mark(n: number): string
  body(mark: string): object
  markOf(stored: Json): string
  /** The ID of the object in an answer. */
  idOf(answer: Json): string
  /** All objects of this kind; absent: those listed at `path`. */
  stored?(product: Product): Json[]
  /** Whether an object was left by a request that was refused, and does not count. */
  isRefused?(stored: Json): boolean
}

const named = (path: string): Kind => ({
  path,
  mark: n => `${path} ${n}`,
  body: name => ({ name }),
  markOf: ({ name }) => name,
  idOf: ({ id }) => id,
})

export const KINDS: Kind[] = [
  {
    path: '/callbacks',
    mark: n => `+97250${String(1_000_000 + n)}`,
    body: phone => ({ phone, name: `client ${phone}`, due_at: new Date(Date.now() + DAY_MS).toISOString() }),
    markOf: ({ phone }) => phone,
    idOf: ({ id }) => id,
  },
  named('/queues'),
  named('/teams'),
  {
    path: '/client_tokens',
    mark: n => `token ${n}`,
    body: mark => ({ metadata: { mark } }),
    markOf: ({ metadata }) => JSON.parse(metadata).mark,
    idOf: ({ call_id }) => call_id,
    stored: tokensOf,
  },
  {
    path: '/calls',
    mark: n => `call ${n}`,
    body: mark => ({ to: SILENT, timeout_s: 5, metadata: { mark } }),
    markOf: ({ metadata }) => metadata.mark ?? '',
    idOf: ({ id }) => id,
    // The answer was 503: control was not connected to media yet, and nobody was dialled.
    isRefused: ({ ended_reason }) => ended_reason === 'media_failed',
  },
]

/** Reads tokens from the database, since the API does not list them. */
function tokensOf({ dataDir }: Product): Json[] {
  const database = new BetterSqlite3(databaseFile(dataDir), { readonly: true })
  try {
    return database.prepare('select id, metadata from client_tokens').all()
  } finally {
    database.close()
  }
}
