import { nodeOf } from '../databases/node.ts'
import type { Db, Store, Trx } from '../store.ts'
import type { NodeRow } from './tables.ts'

/**
 * The heartbeat of a node says that its calls are alive: it comes while control and media are joined. A node without one for a while
 * is lost, and the others end its calls at the time when it was last seen.
 */

/** Between two beats [ms]. */
export const BEAT_MS = 5000
/** Longer than control or media takes to be started again, or to be replaced by a new version [ms]. */
export const LOST_AFTER_MS = 60_000

const isOld = (seenAt: string, now: Date): boolean => now.getTime() - Date.parse(seenAt) > LOST_AFTER_MS

/** This node is alive. True: others have taken it for lost meanwhile, and its calls are over in the rows. */
export async function beat(store: Store, now: Date): Promise<boolean> {
  const seen_at = now.toISOString()
  const id = nodeOf(store.db)
  return store.transaction(async trx => {
    const before = await trx.selectFrom('nodes').selectAll().where('id', '=', id).executeTakeFirst()
    await trx
      .insertInto('nodes')
      .values({ id, seen_at, lost_at: null })
      .onConflict(conflict => conflict.column('id').doUpdateSet({ seen_at, lost_at: null }))
      .execute()
    return before !== undefined && before.lost_at !== null
  })
}

/** When the calls that this node had before were last seen alive; null: a moment ago, or never. */
export async function lastSeen(db: Db, now: Date): Promise<string | null> {
  const row = await db.selectFrom('nodes').select('seen_at').where('id', '=', nodeOf(db)).executeTakeFirst()
  return row !== undefined && isOld(row.seen_at, now) ? row.seen_at : null
}

/** Takes another node for lost; null: there is none to take. Of several that look at once one gets it, by its transaction. */
export async function takeLost(trx: Trx, now: Date): Promise<NodeRow | null> {
  const rows = await trx
    .selectFrom('nodes')
    .selectAll()
    .where('id', '!=', nodeOf(trx))
    .where('lost_at', 'is', null)
    .where('seen_at', '<', new Date(now.getTime() - LOST_AFTER_MS).toISOString())
    .orderBy('id')
    .limit(1)
    .execute()
  const [row] = rows
  if (row === undefined) return null
  await trx.updateTable('nodes').set({ lost_at: now.toISOString() }).where('id', '=', row.id).execute()
  return row
}
