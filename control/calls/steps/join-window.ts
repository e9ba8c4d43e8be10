import { DateTime } from 'luxon'
import type { RoomSchedule } from '../settings.ts'

const OPENS_BEFORE = { minutes: 15 }
const CLOSES_AFTER = { hours: 2 }
const FRIDAY = 5
const SATURDAY = 6

/** More steps than `weekdays` skips in a row, plus the one that may be open early. */
const LOOK_BACK_STEPS = 4

interface Occurrence {
  opens: DateTime
  start: DateTime
  closes: DateTime
}

/**
 * Whether a room with this schedule can be joined at `now`: from 15 minutes before each occurrence until 2 hours after it ends (specification,
 * "Conference room join window"). An occurrence keeps its wall-clock times in the schedule's time zone, also across a change to summer time.
 */
export const isJoinable = (schedule: RoomSchedule, now: Date): boolean => openingOf(schedule, now) === 'open'

/** `closed`: for good. */
export function openingOf(schedule: RoomSchedule, now: Date): 'open' | 'not_open' | 'closed' {
  if (schedule.start_at === null) return 'open'
  const zone = { zone: schedule.timezone }
  const first = DateTime.fromISO(schedule.start_at, zone)
  const firstEnd = schedule.end_at === null ? first : DateTime.fromISO(schedule.end_at, zone)
  const at = DateTime.fromJSDate(now, zone)
  const latest = latestOccurrences(schedule, first, firstEnd, at)
  if (latest.some(({ opens, closes }) => at >= opens && at <= closes)) return 'open'
  return schedule.recurrence === 'none' && at > first ? 'closed' : 'not_open'
}

/** The last occurrences that began before `at`, and the next one. Occurrences that begin later also end later, so earlier ones are irrelevant. */
function latestOccurrences(schedule: RoomSchedule, first: DateTime, firstEnd: DateTime, at: DateTime): Occurrence[] {
  const occurrence = (days: number): Occurrence => {
    const start = first.plus({ days })
    return { opens: start.minus(OPENS_BEFORE), start, closes: firstEnd.plus({ days }).plus(CLOSES_AFTER) }
  }
  if (schedule.recurrence === 'none') return [occurrence(0)]
  const stepDays = schedule.recurrence === 'weekly' ? 7 : 1
  const lastStep = Math.floor(at.diff(first, 'days').days / stepDays) + 1
  const found: Occurrence[] = []
  for (let step = Math.max(0, lastStep - LOOK_BACK_STEPS); step <= lastStep; step++) {
    const one = occurrence(step * stepDays)
    const isSkipped = one.start.weekday === FRIDAY || one.start.weekday === SATURDAY
    if (schedule.recurrence !== 'weekdays' || !isSkipped) found.push(one)
  }
  return found
}
