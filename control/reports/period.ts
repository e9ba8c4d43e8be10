import { Cron } from 'croner'
import { DateTime } from 'luxon'
import { beginningOf } from '../organisation/business-hours.ts'
import type { Period } from '../quality/period.ts'
import type { ReportRow } from './tables.ts'

/** The last whole day, week (from Monday) or month before `now` in the time zone. A day begins at 01:00 where daylight saving time skips midnight. */
export function lastPeriod(unit: ReportRow['period'], now: Date, timezone: string): Period {
  const end = beginningOf(DateTime.fromJSDate(now, { zone: timezone }), unit)
  return { from: iso(beginningOf(end.minus({ [unit]: 1 }), unit)), to: iso(end) }
}

const iso = (time: DateTime): string => time.toJSDate().toISOString()

/**
 * When a schedule (cron, five fields) is next due after `after`, in the time zone. A time that is skipped in spring is due right after the
 * gap, one that occurs twice in autumn is due once. Null: never. Throws if it is no schedule.
 */
export const nextRun = (schedule: string, timezone: string, after: Date): Date | null =>
  new Cron(schedule, { timezone, mode: '5-part', paused: true }).nextRun(after) ?? null
