import { DateTime, Interval } from 'luxon'

export const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
type Day = (typeof DAYS)[number]

/** Business hours of an organisation. Times are `HH:MM` in its time zone, with `24:00` for the end of a day; holidays are `YYYY-MM-DD`. */
export interface OpeningHours {
  weekly: { day: Day; open: string; close: string }[]
  holidays: string[]
}

/** Opening hours in their time zone; null hours: always open. */
export interface BusinessHours {
  hours: OpeningHours | null
  timezone: string
}

/** How far ahead an opening is searched for. */
const HORIZON_DAYS = 370
const DAY_MINUTES = 24 * 60

/** The open spans that end after `from`, in order; adjacent ones are merged. */
function* spansFrom(
  hours: OpeningHours,
  timezone: string,
  from: DateTime,
): Generator<{ start: DateTime; end: DateTime }> {
  let day = beginningOf(from.setZone(timezone))
  for (let i = 0; i < HORIZON_DAYS; i++, day = day.plus({ days: 1 })) {
    if (hours.holidays.includes(day.toFormat('yyyy-MM-dd'))) continue
    const spans = hours.weekly
      .filter(entry => entry.day === DAYS[day.weekday - 1])
      .map(entry => Interval.fromDateTimes(at(day, entry.open), at(day, entry.close)))
    for (const { start, end } of Interval.merge(spans))
      if (end! > from && end! > start!) yield { start: start!, end: end! }
  }
}

/** The first moment of a day, week or month; where the clock shows midnight twice in autumn, `startOf` alone may take the second one. */
export const beginningOf = (at: DateTime, unit: 'day' | 'week' | 'month' = 'day'): DateTime =>
  at.startOf(unit).getPossibleOffsets()[0]!

/** The time on that day. One that the clock skips in spring is when the clock goes on, of two in autumn it is the first. */
function at(day: DateTime, time: string): DateTime {
  const [hour = 0, minute = 0] = time.split(':').map(Number)
  for (let later = minute; ; later++) {
    const found = day.set({ hour, minute: later })
    if ((found.hour * 60 + found.minute - hour * 60 - later) % DAY_MINUTES === 0) return found
  }
}

/** `from` itself if it is in business hours, otherwise the next opening; null: there is none within a year. */
export function nextOpen({ hours, timezone }: BusinessHours, from: Date): Date | null {
  if (hours === null) return from
  const earliest = DateTime.fromJSDate(from)
  for (const { start } of spansFrom(hours, timezone, earliest)) return start > earliest ? start.toJSDate() : from
  return null
}

/** When `minutes` of business hours have passed since `from`; null: not within a year. */
export function afterOpenMinutes({ hours, timezone }: BusinessHours, from: Date, minutes: number): Date | null {
  let leftMs = minutes * 60_000
  if (hours === null) return new Date(from.getTime() + leftMs)
  const begin = DateTime.fromJSDate(from)
  for (const { start, end } of spansFrom(hours, timezone, begin)) {
    const opens = Math.max(start.toMillis(), begin.toMillis())
    if (opens + leftMs <= end.toMillis()) return new Date(opens + leftMs)
    leftMs -= end.toMillis() - opens
  }
  return null
}
