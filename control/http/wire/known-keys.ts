import { sha256 } from '../../kernel/secrets.ts'
import type { Identity } from '../auth.ts'

/** Keys that are remembered; the one that was used longest ago goes first. */
const MAX_KEYS = 1000
/** What has not been used for so long is not believed without the store [ms]. */
const MAX_AGE_MS = 60 * 60 * 1000

interface Known {
  identity: Identity
  expiresAt: string | null
  seenAt: number
}

/**
 * Keys that the store has vouched for, kept by the hash of their header: while the store is away, calls can be ended with them. What
 * is revoked meanwhile cannot be known; nothing can be revoked while the store is away.
 */
export class KnownKeys {
  readonly #known = new Map<string, Known>()

  remember(header: string | undefined, identity: Identity, now: Date): void {
    const key = sha256(header ?? '')
    this.#known.delete(key)
    this.#known.set(key, { identity, expiresAt: identity.expiresAt, seenAt: now.getTime() })
    if (this.#known.size > MAX_KEYS) this.#known.delete(this.#known.keys().next().value as string)
  }

  find(header: string | undefined, now: Date): Identity | undefined {
    const known = this.#known.get(sha256(header ?? ''))
    if (known === undefined || now.getTime() - known.seenAt > MAX_AGE_MS) return undefined
    return known.expiresAt !== null && Date.parse(known.expiresAt) <= now.getTime() ? undefined : known.identity
  }
}
