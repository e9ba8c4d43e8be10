import { LRUCache } from 'lru-cache'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import type { Identity } from '../auth.ts'

/** Keys that are remembered; the one that was used longest ago goes first. */
const MAX_KEYS = 1000
/** For so long the store is not asked again [ms]. A key that another node revokes is refused here after that at the latest. */
export const BELIEVED_MS = 1000
/** While the store is away: what it vouched for longer ago is not believed [ms]. */
const MAX_AGE_MS = 60 * 60 * 1000

interface Known {
  identity: Identity
  /** When the store vouched for it [ms]. */
  seenAt: number
}

/**
 * Keys that the store has vouched for, by their hashes (and the client within which they ask). What is revoked in this process is forgotten with the commit; what another
 * process revokes is believed for `BELIEVED_MS` more. While the store is away calls can be ended with these keys; nothing can be revoked then.
 */
export class KnownKeys {
  readonly #known = new LRUCache<string, Known>({ max: MAX_KEYS })
  /** Of revocations: what was read before one is not remembered after it. */
  #revision = 0

  /** To be asked for before the store is, and given to `remember`. */
  get revision(): number {
    return this.#revision
  }

  remember(hash: string, identity: Identity, read: { at: Date; revision: number }): void {
    this.#known.delete(hash)
    if (read.revision !== this.#revision) return
    this.#known.set(hash, { identity, seenAt: read.at.getTime() })
  }

  /** The store does not know it, or not any more. */
  forget(hash: string): void {
    this.#known.delete(hash)
  }

  revoke(apiKeyId: string): void {
    this.#revision++
    for (const [hash, { identity }] of [...this.#known.entries()])
      if (identity.apiKeyId === apiKeyId) this.#known.delete(hash)
  }

  /** What was known of an organisation's keys is asked for again. */
  forgetAll(organisationId: string): void {
    this.#revision++
    for (const [hash, { identity }] of [...this.#known.entries()])
      if (identity.organisationId === organisationId) this.#known.delete(hash)
  }

  /** Whose key it is, where the store has said so within `BELIEVED_MS`. */
  believed(hash: string, now: Date): Identity | undefined {
    return this.#find(hash, now, BELIEVED_MS)
  }

  /** The same, for the time when the store is away. */
  find(hash: string, now: Date): Identity | undefined {
    return this.#find(hash, now, MAX_AGE_MS)
  }

  #find(hash: string, now: Date, maxAgeMs: number): Identity | undefined {
    const known = this.#known.get(hash)
    if (known === undefined) return undefined
    const { identity, seenAt } = known
    const ageMs = now.getTime() - seenAt
    // A clock that was set back tells nothing.
    if (ageMs < 0 || ageMs > maxAgeMs) return undefined
    return identity.expiresAt !== null && Date.parse(identity.expiresAt) <= now.getTime() ? undefined : identity
  }
}

const known = new WeakMap<Store['db'], KnownKeys>()

/** The keys that this process knows of a store. */
export function knownKeysOf({ db }: Pick<Store, 'db'>): KnownKeys {
  const keys = known.get(db) ?? new KnownKeys()
  known.set(db, keys)
  return keys
}

/** To be called in the transaction that deletes a key: with its commit the key is believed no more. */
export const revokeWith = (trx: Trx, store: Store, apiKeyId: string): void =>
  afterCommit(trx, () => knownKeysOf(store).revoke(apiKeyId))

/** The same for all keys of an organisation, in the transaction that changes what they may. */
export const forgetWith = (trx: Trx, store: Store, organisationId: string): void =>
  afterCommit(trx, () => knownKeysOf(store).forgetAll(organisationId))
