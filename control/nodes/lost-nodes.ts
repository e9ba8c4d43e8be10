import { inPlaceOf } from '../databases/node.ts'
import type { Store, Trx } from '../store.ts'
import { takeLost } from './heartbeat.ts'

export interface LostNodeParts {
  store: Store
  now: () => Date
  log: { warn(fields: object, message: string): void }
  /** Ends what ran at the node that `trx` speaks for, at the time when it was last seen. */
  endAll: (trx: Trx, at: string) => Promise<void>
}

/** Ends the calls of nodes that are lost, and frees whom they held. Returns how many nodes there were. */
export async function endLostNodes({ store, now, log, endAll }: LostNodeParts): Promise<number> {
  for (let count = 0; ; count++) {
    const lost = await store.transaction(async trx => {
      const node = await takeLost(trx, now())
      if (node !== null) await endLost(inPlaceOf(trx, node.id), node, endAll)
      return node
    })
    if (lost === null) return count
    log.warn({ node: lost.id, seenAt: lost.seen_at }, 'a node is lost: its calls have ended')
  }
}

async function endLost(
  trx: Trx,
  { id, seen_at }: { id: string; seen_at: string },
  endAll: LostNodeParts['endAll'],
): Promise<void> {
  await endAll(trx, seen_at)
  // Phones and softphones that nobody reaches any more; they come back at another node, or at this one.
  await trx.deleteFrom('browser_sessions').where('node', '=', id).execute()
  await trx.deleteFrom('sip_registrations').where('node', '=', id).execute()
}
