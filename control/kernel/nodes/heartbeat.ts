import { nodeOf } from '../store/node.ts'
import type { Db, Store, Trx } from '../store/store.ts'
import type { NodeRow } from './tables.ts'

/**
 * The heartbeat of a node says that its calls are alive: it comes while control and media are joined. A node without one for a while
 * is lost, and the others end its calls at the time when it was last seen.
 */

/** Between two beats [ms]. */
export const BEAT_MS = 5000
/** Longer than control or media takes to be started again, or to be replaced by a new version [ms]. */
export const LOST_AFTER_MS = 60_000
/** Longer than it takes to end all calls of a node [ms]. */
const ENDING_MS = 300_000

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

/**
 * Takes another node for lost, or one whose calls somebody began to end and did not; null: there is none to take. Of several that look
 * at once one gets it, by its transaction.
 */
export async function takeLost(trx: Trx, now: Date): Promise<NodeRow | null> {
  const running = trx.selectFrom('calls').select('node_id').where('ended_at', 'is', null)
  const rows = await trx
    .selectFrom('nodes')
    .selectAll()
    .where('id', '!=', nodeOf(trx))
    .where(({ and, or, eb }) =>
      or([
        and([eb('lost_at', 'is', null), eb('seen_at', '<', new Date(now.getTime() - LOST_AFTER_MS).toISOString())]),
        and([
          eb('lost_at', '<', new Date(now.getTime() - ENDING_MS).toISOString()),
          eb('id', 'in', running.$castTo<{ node_id: string }>()),
        ]),
      ]),
    )
    .orderBy('id')
    .limit(1)
    .execute()
  const [row] = rows
  if (row === undefined) return null
  await trx.updateTable('nodes').set({ lost_at: now.toISOString() }).where('id', '=', row.id).execute()
  return row
}

/** Whether a node is still away. */
export async function isLost(trx: Trx, id: string): Promise<boolean> {
  const row = await trx.selectFrom('nodes').select('lost_at').where('id', '=', id).executeTakeFirst()
  return row !== undefined && row.lost_at !== null
}
