import { nodeOf, steadyMsOf } from '../store/node.ts'
import type { Db, Store, Trx } from '../store/store.ts'
import type { NodeRow } from './tables.ts'

/**
 * A node's heartbeat says that its calls are alive. It is sent while control and media are connected. A node without one for a while
 * is lost, and the others end its calls at the time when it was last seen.
 */

/** Interval of heartbeats [ms]. */
export const BEAT_MS = 5000
/** Longer than control or media takes to restart, or to be replaced by a new version [ms]. */
const LOST_AFTER_MS = 60_000
/** Longer than it takes to end all calls of a node [ms]. */
const ENDING_MS = 300_000

/**
 * Sends a heartbeat; `at`: see `NodeTable`; `isAgain`: this process has sent one before. True: others have declared this node lost meanwhile,
 * and perhaps forgotten it: its calls have ended in the rows.
 */
export async function beat(
  store: Store,
  now: Date,
  at: Partial<Pick<NodeRow, 'url' | 'sip' | 'ws'>> = {},
  isAgain = false,
): Promise<boolean> {
  const seen_at = now.toISOString()
  const id = nodeOf(store.db)
  return store.transaction(async trx => {
    const before = await trx.selectFrom('nodes').selectAll().where('id', '=', id).executeTakeFirst()
    await trx
      .insertInto('nodes')
      .values({ id, seen_at, lost_at: null, ...at })
      .onConflict(conflict => conflict.column('id').doUpdateSet({ seen_at, lost_at: null, ...at }))
      .execute()
    return before === undefined ? isAgain : before.lost_at !== null
  })
}

/** When this node's former calls were last seen alive; null: a moment ago, or never. */
export async function lastSeen(db: Db, now: Date): Promise<string | null> {
  const row = await db.selectFrom('nodes').select('seen_at').where('id', '=', nodeOf(db)).executeTakeFirst()
  return row !== undefined && now.getTime() - Date.parse(row.seen_at) > LOST_AFTER_MS ? row.seen_at : null
}

/**
 * The heartbeats of other nodes, observed by this node's own steady clock: a node is silent if its row has not changed for a
 * while. So a wall clock that is set, there or here, makes no node lost.
 */
export class Beats {
  readonly #seen = new Map<string, { row: NodeRow; sinceMs: number }>()

  /** Nodes that are lost, and those whose calls somebody began to end without finishing. To be called regularly. */
  async silent(db: Db): Promise<NodeRow[]> {
    // Its own clock: nobody asks on behalf of this node.
    const nowMs = steadyMsOf(db)!
    const rows = await db.selectFrom('nodes').selectAll().where('id', '!=', nodeOf(db)).orderBy('id').execute()
    const gone = new Set(this.#seen.keys())
    const silent = rows.filter(row => {
      gone.delete(row.id)
      const seen = this.#seen.get(row.id)
      if (seen === undefined || !isSame(seen.row, row)) {
        this.#seen.set(row.id, { row, sinceMs: nowMs })
        return false
      }
      return nowMs - seen.sinceMs > (row.lost_at === null ? LOST_AFTER_MS : ENDING_MS)
    })
    for (const id of gone) this.#seen.delete(id)
    return silent
  }
}

const isSame = (one: NodeRow, other: NodeRow): boolean => one.seen_at === other.seen_at && one.lost_at === other.lost_at

/**
 * Declares a silent node lost, or takes it from the node that has ended its calls so far. False: it has come back, or another node has taken
 * it. If several nodes try at once, the transaction lets one succeed.
 */
export async function takeLost(trx: Trx, silent: NodeRow, now: Date): Promise<boolean> {
  const row = await trx.selectFrom('nodes').selectAll().where('id', '=', silent.id).executeTakeFirst()
  if (row === undefined || !isSame(row, silent)) return false
  await trx.updateTable('nodes').set({ lost_at: now.toISOString() }).where('id', '=', row.id).execute()
  return true
}

/** Forgets a lost node, unless calls are left that could not be ended. Otherwise each name that ever was would be looked after for ever. */
export async function forgetNode(trx: Trx, id: string): Promise<void> {
  const running = trx.selectFrom('calls').select('id').where('node_id', '=', id).where('ended_at', 'is', null)
  if ((await running.limit(1).executeTakeFirst()) !== undefined) return
  // Without the node they would count as open.
  await trx.deleteFrom('open_streams').where('node_id', '=', id).execute()
  await trx.deleteFrom('nodes').where('id', '=', id).execute()
}

/** Whether a node is still lost. */
export async function isLost(trx: Trx, id: string): Promise<boolean> {
  const row = await trx.selectFrom('nodes').select('lost_at').where('id', '=', id).executeTakeFirst()
  return row !== undefined && row.lost_at !== null
}
