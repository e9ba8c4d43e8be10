import { IANAZone } from 'luxon'
import type { RoomSchedule } from '../calls/settings.ts'
import { invalid, type Problem } from '../http/errors.ts'

/** Why a room cannot have this schedule, or null. */
export function scheduleProblem(schedule: RoomSchedule): Problem | null {
  if (!IANAZone.isValidZone(schedule.timezone))
    return invalid('schedule.timezone', `No time zone ${schedule.timezone}.`)
  const { start_at, end_at, recurrence } = schedule
  if (start_at === null && recurrence !== 'none') return invalid('schedule.recurrence', 'recurrence needs start_at.')
  if (start_at === null) return end_at === null ? null : invalid('schedule.end_at', 'end_at needs start_at.')
  return end_at !== null && Date.parse(end_at) <= Date.parse(start_at)
    ? invalid('schedule.end_at', 'end_at must be after start_at.')
    : null
}

/** Requests may carry an offset; answers are in UTC. */
export const inUtc = (schedule: RoomSchedule): RoomSchedule => ({
  ...schedule,
  start_at: schedule.start_at === null ? null : new Date(schedule.start_at).toISOString(),
  end_at: schedule.end_at === null ? null : new Date(schedule.end_at).toISOString(),
})
