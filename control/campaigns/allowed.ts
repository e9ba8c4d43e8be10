import { type BusinessHours, nextOpen } from '../organisation/business-hours.ts'

/** Maximum number of calls to one number by all campaigns of an organisation; null: no limit. */
interface NumberCaps {
  per_number_per_day: number | null
  per_number_per_week: number | null
}

const DAY_MS = 24 * 60 * 60 * 1000
export const WEEK_MS = 7 * DAY_MS

/** The first time at which the caps allow a call, Unix time [ms]. `calls`: when the number was called within the last week, oldest first. */
function whenCapsAllow(caps: NumberCaps, calls: readonly number[], nowMs: number): number {
  const after = (cap: number | null, spanMs: number): number => {
    const within = calls.filter(at => at > nowMs - spanMs)
    if (cap === null || within.length < cap) return nowMs
    // The call that would make it too many has to be older than the span.
    return (within.at(-cap) ?? nowMs) + spanMs
  }
  return Math.max(after(caps.per_number_per_day, DAY_MS), after(caps.per_number_per_week, WEEK_MS))
}

/** The first time from `fromMs` on at which a contact may be called, in the allowed hours of its time zone; null: not within a year. */
export function whenAllowed(
  { hours, caps, calls }: { hours: BusinessHours; caps: NumberCaps; calls: readonly number[] },
  fromMs: number,
): Date | null {
  return nextOpen(hours, new Date(whenCapsAllow(caps, calls, fromMs)))
}
