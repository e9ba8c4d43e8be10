import { randomUUID } from 'node:crypto'
import type { Claim } from '../kernel/store/after-commit.ts'
import { type Place as In, inList, rowsOf, run } from '../kernel/store/compiled.ts'
import type { Db } from '../kernel/store/store.ts'
import type { DeliveryShares, Place } from './shares.ts'
import type { WebhookDeliveryRow } from './tables.ts'

/**
 * Deliveries are claimed in the database by a lease. While it lasts, no other control process attempts the delivery. If its holder dies, it
 * expires and the delivery is due again, so each delivery is attempted at least once.
 */

interface ClaimRules {
  now: Date
  leaseMs: number
  /** Shares out how many attempts may run in this process at a time. */
  shares: DeliveryShares
  /** Whether to look further than deliveries without a free place, which may read all of an endpoint that cannot keep up. */
  looksBehind: boolean
}

/** A delivery whose lease is ours, with the place that it occupies until its attempt has ended. */
export interface ClaimedDelivery {
  delivery: WebhookDeliveryRow
  place: Place
}

interface Claimed {
  deliveries: ClaimedDelivery[]
  /** Whether some deliveries were found behind others without a free place. */
  wereBehind: boolean
  /** The organisations and endpoints with due deliveries that found no free place; null: not all were read. */
  waiting: ReadonlySet<string> | null
}

/** Number of deliveries read at once: the most overdue ones, and those behind them. */
const WINDOW = 32
const WINDOW_BEHIND = 200

/** Statuses of a delivery that is no longer attempted. */
const CLOSED = ['succeeded', 'failed'] as const

/** Claims due deliveries, the most overdue first, within the share of each organisation and endpoint. */
export async function claimDue(db: Db, rules: ClaimRules): Promise<Claimed> {
  const { now, leaseMs, shares } = rules
  const at = now.toISOString()
  const { places, ...rest } = await choose(db, at, rules)
  if (places.size === 0) return { deliveries: [], ...rest }
  try {
    const ids = inList('id', [...places.keys()])
    const claimed = await rowsOf(
      db,
      `claim ${ids.length} deliveries`,
      place =>
        db
          .updateTable('webhook_deliveries')
          .set({ lease: place('lease'), leased_until: place('leased_until') })
          .where('id', 'in', ids.places(place))
          // Not `= 'pending'`, for which a planner may scan all pending deliveries instead of these.
          .where('status', 'not in', CLOSED)
          // Checked again in the statement itself, so that of two processes only one gets each delivery.
          .where(eb => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<=', place('at'))]))
          .returningAll(),
      Object.assign({ at }, ids.values, leaseFrom(now, leaseMs)),
    )
    const deliveries = claimed.map(delivery => {
      const place = places.get(delivery.id)!
      places.delete(delivery.id)
      return { delivery, place }
    })
    return { deliveries, ...rest }
  } finally {
    places.forEach(place => shares.giveBack(place))
  }
}

/** A lease that begins now. */
export const leaseFrom = (now: Date, leaseMs: number): Claim => ({
  lease: randomUUID(),
  leased_until: new Date(now.getTime() + leaseMs).toISOString(),
})

/** Takes a place for each attempt that may begin. Organisations and endpoints without a free place are skipped, so that others get their turn. */
async function choose(
  db: Db,
  at: string,
  { shares, looksBehind }: ClaimRules,
): Promise<{ places: Map<string, Place> } & Omit<Claimed, 'deliveries'>> {
  const places = new Map<string, Place>()
  const organisations = new Set<string>()
  const endpoints = new Set<string>()
  let wereBehind = false
  let isAll = false
  for (let window = WINDOW; shares.free > 0; window = WINDOW_BEHIND) {
    const without = { organisation_id: [...organisations], endpoint_id: [...endpoints], id: [...places.keys()] }
    const rows = await candidates(db, at, without, window)
    for (const row of rows) {
      if (shares.mayTake(row)) places.set(row.id, shares.take(row))
      else if (!shares.hasRoom(row)) organisations.add(row.organisation_id)
      else endpoints.add(row.endpoint_id)
    }
    if (window === WINDOW_BEHIND && rows.length > 0) wereBehind = true
    isAll = rows.length < window
    if (isAll || !looksBehind) break
  }
  return { places, wereBehind, waiting: isAll ? new Set([...organisations, ...endpoints]) : null }
}

function candidates(
  db: Db,
  at: string,
  without: { organisation_id: string[]; endpoint_id: string[]; id: string[] },
  window: number,
) {
  const lists = Object.entries(without).flatMap(([column, values]) =>
    values.length === 0 ? [] : [{ column, ...inList(column, values) }],
  )
  const build = (place: In) => {
    const due = db
      .selectFrom('webhook_deliveries as d')
      .leftJoin('webhook_endpoints as e', 'e.id', 'd.endpoint_id')
      .select(['d.id', 'd.organisation_id', 'd.endpoint_id', 'e.failing_since'])
      .where('d.status', '=', 'pending')
      .where('d.next_attempt_at', '<=', place('at'))
      .where(eb => eb.or([eb('d.leased_until', 'is', null), eb('d.leased_until', '<=', place('at'))]))
    const rest = lists.reduce(
      (all, { column, places }) => all.where(`d.${column}` as 'd.id', 'not in', places(place)),
      due,
    )
    return rest.orderBy('d.next_attempt_at').orderBy('d.id').limit(window)
  }
  const name = lists.map(({ column, length }) => `${length} ${column}`)
  return rowsOf(
    db,
    `${window} due deliveries without ${name}`,
    build,
    Object.assign({ at }, ...lists.map(({ values }) => values)),
  )
}

/** The columns that an attempt changes. */
export type Settlement = Partial<Omit<WebhookDeliveryRow, 'id' | 'organisation_id' | 'livemode' | 'lease'>>

/** Stores the outcome and ends the lease. False: the lease was lost meanwhile, and another attempt decides. */
export async function settle(db: Db, claimed: WebhookDeliveryRow, settlement: Settlement): Promise<boolean> {
  const change = { lease: null, ...settlement, leased_until: null }
  const columns = Object.keys(change)
  const build = (place: In) =>
    db
      .updateTable('webhook_deliveries')
      .set(Object.fromEntries(columns.map(column => [column, place(`to ${column}`)])))
      .where('id', '=', place('id'))
      .where('lease', '=', place('lease'))
  const to = Object.fromEntries(Object.entries(change).map(([column, value]) => [`to ${column}`, value]))
  const { id, lease } = claimed
  const { numAffectedRows } = await run(db, `settle ${columns}`, build, { id, lease, ...to })
  return numAffectedRows === 1n
}

/** Deliveries written further ahead than this were written before the clock was set back; clocks of nodes differ by less [ms]. */
const AHEAD_MS = 60_000

/** Makes deliveries due that wait for a time of a clock that was set back since: how much of the wait is left is unknown. */
export async function dueAgain(db: Db, now: Date): Promise<void> {
  const at = now.toISOString()
  await db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: at, updated: at })
    .where('status', '=', 'pending')
    .where('next_attempt_at', '>', at)
    .where('updated', '>', new Date(now.getTime() + AHEAD_MS).toISOString())
    .execute()
}

/** Deletes up to `limit` closed deliveries that last changed before `before`. Returns how many. */
export async function forgetClosed(db: Db, before: Date, limit: number): Promise<number> {
  const old = db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('next_attempt_at', 'is', null)
    .where('updated', '<', before.toISOString())
    .limit(limit)
  const { numDeletedRows } = await db.deleteFrom('webhook_deliveries').where('id', 'in', old).executeTakeFirst()
  return Number(numDeletedRows)
}
