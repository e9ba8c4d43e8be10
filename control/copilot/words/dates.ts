import { DateTime } from 'luxon'
import type { Word } from './fold.ts'
import { numbersIn } from './numbers.ts'

const MONTHS = 'january february march april may june july august september october november december'.split(' ')
const MONTHS_HE = 'ינואר פברואר מרצ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר'.split(' ')
const DAYS = 'monday tuesday wednesday thursday friday saturday sunday'.split(' ')
const DAYS_HE = 'שני שלישי רביעי חמישי שישי שבת ראשונ'.split(' ')
/** Maximum number before `days` or `weeks`. */
const MOST_AHEAD = 60
const ORDINALS =
  'first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth'.split(
    ' ',
  )
const RELATIVE: Readonly<Record<string, number>> = {
  __proto__: null as never,
  ...{ today: 0, tomorrow: 1, yesterday: -1 },
  ...{ היומ: 0, מחר: 1, מחרתיימ: 2, אתמול: -1 },
}
const SPANS: Readonly<Record<string, number>> = {
  __proto__: null as never,
  ...{ day: 1, days: 1, week: 7, weeks: 7, fortnight: 14 },
  ...{ ימימ: 1, יומיימ: 2, שבוע: 7, שבועיימ: 14, שבועות: 7 },
}

/**
 * The date that was said, `yyyy-mm-dd`, relative to the day of the call; null: none. `isAsked`: a date was asked for. Otherwise "today"
 * does not count, nor a day in a question: "Do you open tomorrow?"
 */
export function dateIn(text: string, words: readonly Word[], today: DateTime, isAsked = true): string | null {
  const { weekday } = today
  return (
    writtenDate(text, today) ??
    monthDate(words, today) ??
    spanDate(words, today) ??
    relativeDate(isAsked ? words : words.filter(word => !isInQuestion(text, word)), today, weekday, isAsked) ??
    (isAsked ? dayOfMonth(words, today) : null)
  )
}

/** Whether the sentence of a word ends with a question mark. */
const isInQuestion = (text: string, { to }: Word): boolean => /^[^.!?\n]*\?/.test(text.slice(to))

function writtenDate(text: string, today: DateTime): string | null {
  const iso = /\b(\d{4})-(\d{1,2})-(\d{1,2})\b/.exec(text)
  if (iso !== null) return dayOf(Number(iso[1]), Number(iso[2]), Number(iso[3]))
  const figures = /\b(\d{1,2})[./](\d{1,2})(?:[./](\d{4}|\d{2}))?\b/.exec(text)
  if (figures === null) return null
  const [first, second] = [Number(figures[1]), Number(figures[2])]
  const year = figures[3] === undefined ? today.year : Number(figures[3].padStart(4, '20'))
  // The day comes before the month, unless that gives no date or the form is that of the United States.
  return second > 12 ? dayOf(year, first, second) : dayOf(year, second, first)
}

function monthDate(words: readonly Word[], today: DateTime): string | null {
  for (const [at, { text }] of words.entries()) {
    const bare = text.startsWith('ב') ? text.slice(1) : text
    const month = Math.max(MONTHS.indexOf(text), MONTHS_HE.indexOf(bare)) + 1
    if (month === 0) continue
    const day = dayNear(words, at)
    if (day === null) continue
    const date = dayOf(yearNear(words, at) ?? today.year, month, day)
    if (date !== null) return date
  }
  return null
}

/** A year after a month and its day: `1984`, `nineteen eighty four`. */
function yearNear(words: readonly Word[], at: number): number | null {
  const behind = numbersIn(words).filter(({ from }) => from > at && from <= at + 3)
  const year = behind.find(({ digits }) => /^(19|20)\d\d$/.test(digits))
  return year === undefined ? null : Number(year.digits)
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

/** A date such as "in two weeks", "a week from today", "the day after tomorrow". */
function spanDate(words: readonly Word[], today: DateTime): string | null {
  for (const [at, { text }] of words.entries()) {
    const [next, after] = [words[at + 1]?.text ?? '', words[at + 2]?.text ?? '']
    if (text === 'day' && next === 'after' && after === 'tomorrow') return today.plus({ days: 2 }).toISODate()
    const days = SPANS[text]
    if (days === undefined) continue
    const isAhead = next === 'from' && /^(now|today)$/.test(after)
    const number = numbersIn(words).find(({ to }) => to === at)
    const start = number?.from ?? (/^an?$/.test(words[at - 1]?.text ?? '') ? at - 1 : at)
    if (!isAhead && !/^(in|within|בעוד|עוד)$/.test(words[start - 1]?.text ?? '')) continue
    const count = number === undefined ? 1 : number.value
    if (count !== null && count <= MOST_AHEAD) return today.plus({ days: days * count }).toISODate()
  }
  return null
}

function relativeDate(words: readonly Word[], today: DateTime, weekday: number, isAsked: boolean): string | null {
  for (const [at, { text }] of words.entries()) {
    const days = RELATIVE[text] ?? RELATIVE[text.replace(/^[לבמ]/, '')]
    if (days !== undefined && (isAsked || days > 0)) return today.plus({ days }).toISODate()
    const isHebrewDay = words[at - 1]?.text.replace(/^[בל]/, '') === 'יומ'
    const day = Math.max(DAYS.indexOf(text), isHebrewDay ? DAYS_HE.indexOf(text) : -1)
    if (day < 0) continue
    const ahead = (day + 1 - weekday + 7) % 7 || 7
    return today.plus({ days: ahead }).toISODate()
  }
  return null
}

/** The next such day of a month: "on the fifteenth". */
function dayOfMonth(words: readonly Word[], today: DateTime): string | null {
  for (const [at, { text }] of words.entries()) {
    const before = words[at - 1]?.text
    const day = dayNumber(text, before)
    if (day === 0 || (before !== 'the' && words[at - 2]?.text !== 'the')) continue
    for (const ahead of [0, 1]) {
      const month = today.startOf('month').plus({ months: ahead })
      const date = dayOf(month.year, month.month, day)
      if (date !== null && date >= today.toISODate()!) return date
    }
  }
  return null
}

/** The day of a month that an ordinal says; 0: none. */
function dayNumber(text: string, before: string | undefined): number {
  const written = /^(\d{1,2})(?:st|nd|rd|th)$/.exec(text)
  if (written !== null) return Number(written[1])
  if (text === 'thirtieth') return 30
  const ordinal = ORDINALS.indexOf(text) + 1
  if (ordinal === 0 || ordinal > 9) return ordinal
  if (before === 'twenty') return 20 + ordinal
  return before === 'thirty' ? 30 + ordinal : ordinal
}

function dayOf(year: number, month: number, day: number): string | null {
  const date = DateTime.utc(year, month, day)
  return date.isValid ? date.toISODate() : null
}
