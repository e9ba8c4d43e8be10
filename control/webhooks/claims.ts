import { randomUUID } from 'node:crypto'
import type { Db } from '../store.ts'
import type { WebhookDeliveryRow } from './tables.ts'

/**
 * Who may attempt which delivery, decided in the database: a claim is a lease. While it runs, no other control process attempts
 * the delivery; when its holder dies, it runs out and the delivery is due again. So each is attempted at least once.
 */

export interface ClaimRules {
  now: Date
  leaseMs: number
  /** How many deliveries to claim at most. */
  limit: number
  /** Deliveries of one endpoint that may be under way at once. */
  perEndpoint: number
  /** How many are under way in this process, by endpoint. */
  busy: ReadonlyMap<string, number>
}

/** Takes deliveries that are due, the most overdue first. Fewer than `limit` does not mean that no more are due. */
export async function claimDue(db: Db, rules: ClaimRules): Promise<WebhookDeliveryRow[]> {
  const at = rules.now.toISOString()
  const full = [...rules.busy].filter(([, count]) => count >= rules.perEndpoint).map(([id]) => id)
  let due = db
    .selectFrom('webhook_deliveries')
    .select(['id', 'endpoint_id'])
    .where('status', '=', 'pending')
    .where('next_attempt_at', '<=', at)
    .where(eb => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<=', at)]))
  if (full.length > 0) due = due.where('endpoint_id', 'not in', full)
  const candidates = await due.orderBy('next_attempt_at').orderBy('id').limit(rules.limit).execute()
  const ids = withinBounds(candidates, rules)
  if (ids.length === 0) return []
  return (
    db
      .updateTable('webhook_deliveries')
      .set({ lease: randomUUID(), leased_until: new Date(rules.now.getTime() + rules.leaseMs).toISOString() })
      .where('id', 'in', ids)
      .where('status', '=', 'pending')
      // Judged again by the statement that takes it, so that of two processes with the same candidates one gets each.
      .where(eb => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<=', at)]))
      .returningAll()
      .execute()
  )
}

function withinBounds(candidates: { id: string; endpoint_id: string }[], { busy, perEndpoint }: ClaimRules): string[] {
  const counts = new Map(busy)
  return candidates.flatMap(({ id, endpoint_id: endpointId }) => {
    const count = counts.get(endpointId) ?? 0
    if (count >= perEndpoint) return []
    counts.set(endpointId, count + 1)
    return [id]
  })
}

/** What an attempt has made of a delivery. */
export type Settlement = Partial<Omit<WebhookDeliveryRow, 'id' | 'organisation_id' | 'livemode' | 'lease'>>

/** Writes the outcome and ends the lease. False when the lease was lost meanwhile: then another attempt decides. */
export async function settle(db: Db, claimed: WebhookDeliveryRow, settlement: Settlement): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('webhook_deliveries')
    .set({ ...settlement, lease: null, leased_until: null })
    .where('id', '=', claimed.id)
    .where('lease', '=', claimed.lease)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Forgets up to `limit` closed deliveries that last changed before `before`. Returns how many. */
export async function forgetClosed(db: Db, before: Date, limit: number): Promise<number> {
  const old = db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('status', 'in', ['succeeded', 'failed'])
    .where('updated', '<', before.toISOString())
    .limit(limit)
  const { numDeletedRows } = await db.deleteFrom('webhook_deliveries').where('id', 'in', old).executeTakeFirst()
  return Number(numDeletedRows)
}
