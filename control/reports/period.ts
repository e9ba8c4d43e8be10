import { Cron } from 'croner'
import { DateTime } from 'luxon'
import type { ReportRow } from './tables.ts'

export interface Period {
  /** ISO-8601 UTC. */
  from: string
  /** Not in the period any more. */
  to: string
}

/** The last whole day, week (from Monday) or month before `now`, by the clock of the time zone. A day may begin at 01:00: where midnight is skipped in spring. */
export function lastPeriod(unit: ReportRow['period'], now: Date, timezone: string): Period {
  const end = DateTime.fromJSDate(now, { zone: timezone }).startOf(unit)
  return { from: iso(end.minus({ [unit]: 1 }).startOf(unit)), to: iso(end) }
}

const iso = (time: DateTime): string => time.toJSDate().toISOString()

/**
 * When a schedule (cron, five fields) comes next after `after`, by the clock of the time zone. A time that the clock skips in
 * spring comes when it goes on, one that it shows twice in autumn comes once. Null: never. Throws when it is no schedule.
 */
export const nextRun = (schedule: string, timezone: string, after: Date): Date | null =>
  new Cron(schedule, { timezone, mode: '5-part', paused: true }).nextRun(after) ?? null
