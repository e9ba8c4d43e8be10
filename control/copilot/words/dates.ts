import { DateTime } from 'luxon'
import { folded, type Word } from './fold.ts'
import { numbersIn } from './numbers.ts'
import { streetOf } from './streets.ts'

const MONTHS = 'january february march april may june july august september october november december'.split(' ')
const MONTHS_HE = 'ינואר פברואר מרצ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר'.split(' ')
const DAYS = 'monday tuesday wednesday thursday friday saturday sunday'.split(' ')
const DAYS_HE = 'שני שלישי רביעי חמישי שישי שבת ראשונ'.split(' ')
const ORDINALS =
  'first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth'.split(
    ' ',
  )
const RELATIVE: Readonly<Record<string, number>> = { today: 0, tomorrow: 1, yesterday: -1, היומ: 0, מחר: 1, אתמול: -1 }

/**
 * The date that was said, `yyyy-mm-dd`, seen from the day of the call; null: none. `isAsked`: a day was asked for; else "today" is said of
 * anything.
 */
export function dateIn(text: string, words: readonly Word[], today: DateTime, isAsked = true): string | null {
  return writtenDate(text, today) ?? monthDate(words, today) ?? relativeDate(words, today, isAsked)
}

function writtenDate(text: string, today: DateTime): string | null {
  const iso = /\b(\d{4})-(\d{1,2})-(\d{1,2})\b/.exec(text)
  if (iso !== null) return dayOf(Number(iso[1]), Number(iso[2]), Number(iso[3]))
  const figures = /\b(\d{1,2})[./](\d{1,2})(?:[./](\d{4}|\d{2}))?\b/.exec(text)
  if (figures === null) return null
  const [first, second] = [Number(figures[1]), Number(figures[2])]
  const year = figures[3] === undefined ? today.year : Number(figures[3].padStart(4, '20'))
  // Day before month, unless that is no date, or the United States are meant.
  return second > 12 ? dayOf(year, first, second) : dayOf(year, second, first)
}

function monthDate(words: readonly Word[], today: DateTime): string | null {
  for (const [at, { text }] of words.entries()) {
    const bare = text.startsWith('ב') ? text.slice(1) : text
    const month = Math.max(MONTHS.indexOf(text), MONTHS_HE.indexOf(bare)) + 1
    if (month === 0) continue
    const day = dayNear(words, at)
    if (day === null) continue
    const year = words.slice(at + 1, at + 4).find(word => /^(19|20)\d\d$/.test(word.text))
    const date = dayOf(year === undefined ? today.year : Number(year.text), month, day)
    if (date !== null) return date
  }
  return null
}

/** `March the third`, `the third of March`, `3 March`. */
function dayNear(words: readonly Word[], at: number): number | null {
  for (const place of [at + 1, at - 1, at + 2, at - 2, at + 3]) {
    const word = words[place]
    if (word === undefined) continue
    const before = place > 0 ? words[place - 1]!.text : ''
    const ordinal = ORDINALS.indexOf(word.text) + 1
    if (ordinal > 0) return before === 'twenty' && ordinal < 10 ? 20 + ordinal : ordinal
    const written = /^(\d{1,2})(st|nd|rd|th)?$/.exec(word.text)
    if (written !== null) return Number(written[1])
    const said = numbersIn(words).find(number => number.from <= place && place < number.to)
    if (said?.value != null && said.value >= 1 && said.value <= 31) return said.value
  }
  return null
}

function relativeDate(words: readonly Word[], today: DateTime, isAsked: boolean): string | null {
  for (const [at, { text }] of words.entries()) {
    const days = RELATIVE[text] ?? RELATIVE[text.replace(/^[לבמ]/, '')]
    if (days !== undefined && (isAsked || days > 0)) return today.plus({ days }).toISODate()
    const isHebrewDay = words[at - 1]?.text.replace(/^[בל]/, '') === 'יומ'
    const day = Math.max(DAYS.indexOf(text), isHebrewDay ? DAYS_HE.indexOf(text) : -1)
    if (day < 0) continue
    const ahead = (day + 1 - today.weekday + 7) % 7 || 7
    return today.plus({ days: ahead }).toISODate()
  }
  return null
}

function dayOf(year: number, month: number, day: number): string | null {
  const date = DateTime.utc(year, month, day)
  return date.isValid ? date.toISODate() : null
}

const PM = /^(pm|afternoon|evening|tonight|night|בערב|אחהצ|בצהריימ)$/

/** The time of day that was said, `hh:mm`; null: none. */
export function timeIn(text: string, words: readonly Word[]): string | null {
  const written = /\b([01]?\d|2[0-3])[:.]([0-5]\d)\s*([ap]\.?m)?/i.exec(text)
  if (written !== null) return clock(Number(written[1]), Number(written[2]), /^p/i.test(written[3] ?? ''))
  const bare = /\b(1[0-2]|[1-9])\s*([ap])\.?m\b/i.exec(text)
  if (bare !== null) return clock(Number(bare[1]) % 12, 0, bare[2]!.toLowerCase() === 'p')
  const isPm = words.some(word => PM.test(word.text))
  for (const number of numbersIn(words)) {
    const { value, from, to } = number
    if (value === null || value > 24 || streetOf(words, number) !== null) continue
    const [before, after] = [words[from - 1]?.text ?? '', words[to]?.text ?? '']
    const isTime = /^(at|around|by|בשעה|ב)$/.test(before) || /^(oclock|pm|am|בבוקר|בערב)$/.test(after)
    const past = words[from - 1]?.text === 'past' && words[from - 2]?.text === 'half'
    if (past) return clock(value, 30, isPm)
    if (isTime && folded(after) !== 'percent') return clock(value, 0, isPm)
  }
  return words.some(word => word.text === 'noon') ? '12:00' : null
}

function clock(hour: number, minute: number, isPm: boolean): string {
  const at = isPm && hour < 12 ? hour + 12 : hour % 24
  return `${String(at).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
}
