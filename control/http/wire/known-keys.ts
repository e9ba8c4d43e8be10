import { LRUCache } from 'lru-cache'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import type { Identity } from '../auth.ts'

/** Maximum number of cached keys; the least recently used goes first. */
const MAX_KEYS = 1000
/** The store is not asked again for this time [ms]. So a key revoked by another node is refused here after that at the latest. */
export const BELIEVED_MS = 1000
/** While the store is unavailable, entries older than this are not trusted [ms]. */
const MAX_AGE_MS = 60 * 60 * 1000

interface Known {
  identity: Identity
  /** When the store confirmed it [ms]. */
  seenAt: number
}

/**
 * Cache of keys that the store has confirmed, by hash (and by the client organisation inside which they act). A key revoked in this process is
 * forgotten with the commit; one revoked by another process is trusted for `BELIEVED_MS` more. While the store is unavailable, calls can be
 * ended with these keys; nothing can be revoked in that time.
 */
export class KnownKeys {
  readonly #known = new LRUCache<string, Known>({ max: MAX_KEYS })
  /** Counts revocations: what was read before one is not cached after it. */
  #revision = 0

  /** Read it before asking the store, and pass it to `remember`. */
  get revision(): number {
    return this.#revision
  }

  remember(hash: string, identity: Identity, read: { at: Date; revision: number }): void {
    this.#known.delete(hash)
    if (read.revision !== this.#revision) return
    this.#known.set(hash, { identity, seenAt: read.at.getTime() })
  }

  /** The store does not know the key, or no longer does. */
  forget(hash: string): void {
    this.#known.delete(hash)
  }

  revoke(apiKeyId: string): void {
    this.#revision++
    for (const [hash, { identity }] of [...this.#known.entries()])
      if (identity.apiKeyId === apiKeyId) this.#known.delete(hash)
  }

  /** Forgets all keys of an organisation. */
  forgetAll(organisationId: string): void {
    this.#revision++
    for (const [hash, { identity }] of [...this.#known.entries()])
      if (identity.organisationId === organisationId) this.#known.delete(hash)
  }

  /** The identity, if the store confirmed it within `BELIEVED_MS`. */
  believed(hash: string, now: Date): Identity | undefined {
    return this.#find(hash, now, BELIEVED_MS)
  }

  /** The same, while the store is unavailable. */
  find(hash: string, now: Date): Identity | undefined {
    return this.#find(hash, now, MAX_AGE_MS)
  }

  #find(hash: string, now: Date, maxAgeMs: number): Identity | undefined {
    const known = this.#known.get(hash)
    if (known === undefined) return undefined
    const { identity, seenAt } = known
    const ageMs = now.getTime() - seenAt
    // If the clock was set back, the age is unknown.
    if (ageMs < 0 || ageMs > maxAgeMs) return undefined
    return identity.expiresAt !== null && Date.parse(identity.expiresAt) <= now.getTime() ? undefined : identity
  }
}

const known = new WeakMap<Store['db'], KnownKeys>()

/** The key cache of a store in this process. */
export function knownKeysOf({ db }: Pick<Store, 'db'>): KnownKeys {
  const keys = known.get(db) ?? new KnownKeys()
  known.set(db, keys)
  return keys
}

/** To be called in the transaction that deletes a key: its commit removes the key from the cache. */
export const revokeWith = (trx: Trx, store: Store, apiKeyId: string): void =>
  afterCommit(trx, () => knownKeysOf(store).revoke(apiKeyId))

/** The same for all keys of an organisation, in the transaction that changes their permissions. */
export const forgetWith = (trx: Trx, store: Store, organisationId: string): void =>
  afterCommit(trx, () => knownKeysOf(store).forgetAll(organisationId))
