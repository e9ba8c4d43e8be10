import { createHash } from 'node:crypto'
import type { NonceUse } from '../../../media/protocol.ts'
import type { Store } from '../store/store.ts'

/** Longer than a nonce is valid, whatever the clocks of nodes say [ms]. */
const KEPT_MS = 10 * 60_000

declare module '../store/tables.ts' {
  interface Database {
    digest_uses: DigestUseTable
  }
}

/** The highest count with which a nonce was used, of all nodes. */
export interface DigestUseTable {
  /** A hash of it. */
  nonce: string
  count: number
  /** When it is forgotten. */
  until: string
}

/**
 * Notes a right answer to a challenge. False: this use of the nonce, or a later one, was at another node before, so it is a replay. Where
 * there is one node, its media process knows that by itself.
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
  const noted = await db
    .insertInto('digest_uses')
    .values({ nonce, count: use.count, until })
    .onConflict(conflict =>
      conflict.column('nonce').doUpdateSet({ count: use.count, until }).where('digest_uses.count', '<', use.count),
    )
    .executeTakeFirst()
  return noted.numInsertedOrUpdatedRows === 1n
}
