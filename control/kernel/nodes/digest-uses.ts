import { createHash } from 'node:crypto'
import type { NonceUse } from '../../../media/protocol.ts'
import { insertNew } from '../store/compiled.ts'
import type { Store } from '../store/store.ts'

/** Longer than a nonce is valid, whatever the clocks of nodes say [ms]. */
const KEPT_MS = 10 * 60_000

declare module '../store/tables.ts' {
  interface Database {
    digest_uses: DigestUseTable
  }
}

/** A use of a nonce, at any node. */
interface DigestUseTable {
  /** A hash of it. */
  nonce: string
  /** Which use of it: what its client counts (RFC 7616 §3.4, `nc`). */
  count: number
  /** When it is forgotten. */
  until: string
}

/**
 * Stores a correct response to a challenge. False: this use of the nonce is already stored, so it is a replay. Uses need not arrive in
 * order: a phone's requests are handled concurrently, and without the password nobody can respond with another count. With a single node,
 * its media process detects replays by itself.
 */
export async function noteUse(
  { engine, db }: Pick<Store, 'engine' | 'db'>,
  use: NonceUse,
  now: Date,
): Promise<boolean> {
  if (engine === 'sqlite') return true
  await db.deleteFrom('digest_uses').where('until', '<=', now.toISOString()).execute()
  const nonce = createHash('sha256').update(use.value).digest('hex')
  const until = new Date(now.getTime() + KEPT_MS).toISOString()
  return insertNew(db, 'digest_uses', { nonce, count: use.count, until })
}
