import type { DateTime } from 'luxon'
import { DAY_NAMES } from './opening-hours.ts'

/** The day or the moment that a question is about. */
export interface AskedDay {
  /** 0: Monday. */
  days: number[]
  /** As the answer names it: `on Sunday`, `tomorrow`. */
  label: string
  /** Minutes since midnight; null: the whole day. */
  minutes: number | null
  isNow: boolean
  /** A date relative to today, not that day of every week. */
  isRelative: boolean
}

const PARTS_OF_DAY: readonly (readonly [RegExp, number])[] = [
  [/\b(at night|in the night|overnight)\b/, 23 * 60],
  [/\b(midnight)\b/, 24 * 60 - 1],
  [/\bnoon\b/, 12 * 60],
  [/\bmornings?\b/, 10 * 60],
  [/\bafternoons?\b/, 15 * 60],
  [/\bevenings?\b/, 19 * 60],
]
const NUMBERS = 'one two three four five six seven eight nine ten eleven twelve'.split(' ')
const CLOCK = new RegExp(
  String.raw`\b(?:at|by|after|before|around) (\d{1,2}|${NUMBERS.join('|')}) ?(thirty|\d\d)?(?: o clock)? ?([ap]) ?m\b|\b(?:at|by|after|around) (\d{1,2}|${NUMBERS.join('|')})(?: o clock)?(?: in the (morning|afternoon|evening)| at (night))?(?! (minutes|days|people|euros))`,
)

/** The day that the words name; null: none. `now`: the time in the time zone of the business. */
export function dayAsked(plain: string, now: DateTime): AskedDay | null {
  const said = plain.replace(/\bto (day|night|morrow)\b/g, 'to$1')
  const today = now.weekday - 1
  const minutes = clockAsked(said) ?? PARTS_OF_DAY.find(([pattern]) => pattern.test(said))?.[1] ?? null
  const named = DAY_NAMES.flatMap((name, day) => (new RegExp(`\\b${name.toLowerCase()}s?\\b`).test(said) ? [day] : []))
  const day = (days: number[], label: string, isRelative = false): AskedDay => ({
    days,
    label,
    minutes,
    isNow: false,
    isRelative,
  })
  if (named.length > 0) return day(named, `on ${named.map(at => DAY_NAMES[at]).join(' and ')}`)
  if (/\btomorrow\b/.test(said)) return day([(today + 1) % 7], `tomorrow, ${DAY_NAMES[(today + 1) % 7]}`, true)
  if (/\bweekends?\b/.test(said)) return day([5, 6], 'at the weekend')
  if (/\bweekdays?\b|\bduring the week\b/.test(said)) return day([0, 1, 2, 3, 4], 'on weekdays')
  if (/\b(now|still|currently|yet|already)\b/.test(said)) {
    return { days: [today], label: 'now', minutes: now.hour * 60 + now.minute, isNow: true, isRelative: true }
  }
  if (/\b(today|tonight|this (evening|afternoon|morning))\b/.test(said)) return day([today], 'today', true)
  return minutes === null ? null : day([today], 'then', true)
}

function clockAsked(said: string): number | null {
  const found = CLOCK.exec(said)
  if (found === null) return null
  const [, hourA, minuteText, half, hourB, part, night] = found
  const hourText = hourA ?? hourB!
  const hour = NUMBERS.includes(hourText) ? NUMBERS.indexOf(hourText) + 1 : Number(hourText)
  if (hour > 24) return null
  const minute = minuteText === 'thirty' ? 30 : Number(minuteText ?? 0)
  const isMorning = half === 'a' || part === 'morning'
  // An hour before seven without a part of the day means the afternoon.
  const isAfternoon =
    half === 'p' || part === 'afternoon' || part === 'evening' || night !== undefined || (!isMorning && hour < 7)
  return ((hour % 12) + (isAfternoon ? 12 : hour === 12 && !isMorning ? 12 : 0)) * 60 + minute
}
