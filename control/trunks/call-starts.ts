import { sql } from 'kysely'
import type { Db } from '../kernel/store/store.ts'
import type { ConnectionRow } from './tables.ts'

/** Maximum time that an outbound call waits for its turn [ms]. */
export const MAX_WAIT_MS = 2000
/** How far ahead the next start may lie [ms]. Anything later was written by a wrong clock and is ignored. */
const MAX_AHEAD_MS = 10_000
type Direction = 'in' | 'out'
/** Our spacing is slightly longer than media's (`call-pace.ts`), so nothing piles up there [µs]. */
const SECOND_US: Record<Direction, number> = { in: 1_000_000, out: 1_050_000 }

/** Time between two calls [µs]. */
const stepOf = (perSecond: number, direction: Direction): number => Math.ceil(SECOND_US[direction] / perSecond)

type Paced = Pick<ConnectionRow, 'id' | 'organisation_id' | 'livemode' | 'calls_per_second'>

/**
 * Takes the next slot of a connection with `calls_per_second`. Returns how long to wait for it [ms]; null: longer than `withinMs`. One
 * statement, so that two nodes never take the same slot. `nowMs`: Unix time.
 */
async function takeTurn(
  db: Db,
  row: Paced,
  { direction, withinMs, nowMs }: { direction: Direction; withinMs: number; nowMs: number },
): Promise<number | null> {
  if (row.calls_per_second === null) return 0
  const [now, step] = [Math.round(nowMs * 1000), stepOf(row.calls_per_second, direction)]
  const next = sql<number>`call_starts.next_us`
  const isWild = sql<boolean>`${next} > ${now + MAX_AHEAD_MS * 1000}`
  const taken = await db
    .insertInto('call_starts')
    .values({
      organisation_id: row.organisation_id,
      livemode: row.livemode,
      connection_id: row.id,
      direction,
      next_us: now + step,
    })
    .onConflict(conflict =>
      conflict
        .columns(['connection_id', 'direction'])
        .doUpdateSet({
          next_us: sql`case when ${next} > ${now} and not (${isWild}) then ${next} else ${now} end + ${step}`,
        })
        .where(sql<boolean>`${next} <= ${now + withinMs * 1000} or ${isWild}`),
    )
    .returning('next_us')
    .executeTakeFirst()
  return taken === undefined ? null : Math.max(0, Math.ceil((Number(taken.next_us) - step - now) / 1000))
}

/** Whether one more inbound call is allowed: a burst of as many as in one second, and then as many per second. */
export async function mayStartIn(db: Db, row: Paced, nowMs: number): Promise<boolean> {
  const perSecond = row.calls_per_second ?? 1
  const withinMs = ((perSecond - 1) * stepOf(perSecond, 'in')) / 1000
  return (await takeTurn(db, row, { direction: 'in', withinMs, nowMs })) !== null
}

/** How long an outbound call waits before it is dialled [ms], so that calls are evenly spaced; null: too long. */
export const waitToStart = (db: Db, row: Paced, nowMs: number): Promise<number | null> =>
  takeTurn(db, row, { direction: 'out', withinMs: MAX_WAIT_MS, nowMs })

/** Counts a call that was dialled without a turn, after another connection refused it. Later calls wait accordingly. */
export async function countStart(db: Db, row: Paced, nowMs: number): Promise<void> {
  await takeTurn(db, row, { direction: 'out', withinMs: MAX_AHEAD_MS, nowMs })
}
