import { type Beats, forgetNode, isLost, takeLost } from '../kernel/nodes/heartbeat.ts'
import type { NodeRow } from '../kernel/nodes/tables.ts'
import { inPlaceOf } from '../kernel/store/node.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'

/** Runs one of many independent steps in a transaction of its own. If it throws, only this leg, if any, is ended. */
type LostStep = (legId: string | null, run: (trx: Trx) => Promise<unknown>) => Promise<void>

export interface LostNodeParts {
  store: Store
  now: () => Date
  beats: Beats
  log: { warn(fields: object, message: string): void }
  /** Ends everything of the node that `db` and the steps act for, with the time when it was last seen. */
  endAll: (db: Db, at: string, step: LostStep) => Promise<void>
  /** Runs one step, see `LostStep`. */
  guard: (legId: string | null, at: string, run: () => Promise<unknown>) => Promise<void>
}

/** Ends the calls of lost nodes, and frees their agents; one that is lost for long is then forgotten. Returns how many nodes there were. */
export async function endLostNodes(parts: LostNodeParts): Promise<number> {
  const { store, now, log, beats } = parts
  let count = 0
  for (const silent of await beats.silent(store.db)) {
    if (!(await store.transaction(trx => takeLost(trx, silent, now())))) continue
    await endLost(parts, silent)
    if (silent.lost_at === null)
      log.warn({ node: silent.id, seenAt: silent.seen_at }, 'a node is lost: its calls have ended')
    count++
  }
  return count
}

async function endLost({ store, endAll, guard }: LostNodeParts, { id, seen_at, lost_at }: NodeRow): Promise<void> {
  const step: LostStep = (legId, run) =>
    guard(legId, seen_at, () =>
      // The node may have come back meanwhile, and then its calls continue.
      store.transaction(async trx => {
        if (await isLost(trx, id)) await run(inPlaceOf(trx, id))
      }),
    )
  await endAll(inPlaceOf(store.db, id), seen_at, step)
  // Softphones, and phones without a proxy, can no longer be reached. They connect again to another node, or to this one.
  await step(null, trx => trx.deleteFrom('browser_sessions').where('node', '=', id).execute())
  const phones = (trx: Trx) => trx.deleteFrom('sip_registrations').where('node', '=', id).where('path', '=', '[]')
  await step(null, trx => phones(trx).execute())
  if (lost_at !== null) await step(null, trx => forgetNode(trx, id))
}
