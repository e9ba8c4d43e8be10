import { DateTime } from 'luxon'

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

interface Span {
  start: DateTime
  end: DateTime
}

/** The open spans that end after `from`, in order; adjacent ones are merged. */
function* spansFrom(hours: OpeningHours, timezone: string, from: DateTime): Generator<Span> {
  let day = from.setZone(timezone).startOf('day')
  for (let i = 0; i < HORIZON_DAYS; i++, day = day.plus({ days: 1 })) {
    if (hours.holidays.includes(day.toFormat('yyyy-MM-dd'))) continue
    const spans = hours.weekly
      .filter(entry => entry.day === DAYS[day.weekday - 1])
      .map(entry => ({ start: at(day, entry.open), end: at(day, entry.close) }))
      .sort((a, b) => a.start.toMillis() - b.start.toMillis())
    for (const span of merged(spans)) if (span.end > from) yield span
  }
}

/** Spans in order of their start, merged so that none overlap. */
function merged(spans: Span[]): Span[] {
  const result: Span[] = []
  for (const span of spans) {
    const last = result.at(-1)
    if (last === undefined || span.start > last.end) result.push({ ...span })
    else if (span.end > last.end) last.end = span.end
  }
  return result
}

function at(day: DateTime, time: string): DateTime {
  const [hour = 0, minute = 0] = time.split(':').map(Number)
  return day.set({ hour, minute })
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
