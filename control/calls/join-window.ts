import { DateTime, type Duration } from 'luxon'
import type { RoomSchedule } from './settings.ts'

const OPENS_BEFORE = { minutes: 15 }
const CLOSES_AFTER = { hours: 2 }
const FRIDAY = 5
const SATURDAY = 6

/**
 * Whether a room with this schedule can be joined at `now`: from 15 minutes before each occurrence until 2 hours after it
 * ends (specification, "Conference room join window"). An occurrence keeps its wall-clock time in the schedule's time zone,
 * also across a change to summer time.
 */
export function isJoinable(schedule: RoomSchedule, now: Date): boolean {
  if (schedule.start_at === null) return true
  const zone = { zone: schedule.timezone }
  const first = DateTime.fromISO(schedule.start_at, zone)
  const length = schedule.end_at === null ? first.diff(first) : DateTime.fromISO(schedule.end_at, zone).diff(first)
  const at = DateTime.fromJSDate(now, zone)
  return occurrencesNear(schedule, first, length, at).some(
    start => at >= start.minus(OPENS_BEFORE) && at <= start.plus(length).plus(CLOSES_AFTER),
  )
}

/** The occurrences that may be going on at `at`: those that began within their own length and the margins before it. */
function occurrencesNear(schedule: RoomSchedule, first: DateTime, length: Duration, at: DateTime): DateTime[] {
  if (schedule.recurrence === 'none') return [first]
  const stepDays = schedule.recurrence === 'weekly' ? 7 : 1
  const elapsedDays = Math.floor(at.diff(first, 'days').days)
  const reachDays = Math.ceil(length.as('days')) + 2
  const found: DateTime[] = []
  const begin = Math.max(0, Math.floor((elapsedDays - reachDays) / stepDays))
  for (let step = begin; step * stepDays <= elapsedDays + 2; step++) {
    const start = first.plus({ days: step * stepDays })
    const isWeekend = start.weekday === FRIDAY || start.weekday === SATURDAY
    if (schedule.recurrence !== 'weekdays' || !isWeekend) found.push(start)
  }
  return found
}
