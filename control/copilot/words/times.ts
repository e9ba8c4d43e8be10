import type { Word } from './fold.ts'
import { numbersIn, type SaidNumber } from './numbers.ts'
import { streetOf } from './streets.ts'

const PM = /^(pm|afternoon|evening|tonight|night|בערב|הערב|אחהצ|בצהריימ|הצהריימ|בלילה)$/
const PART_OF_DAY = /^(oclock|pm|am|morning|afternoon|evening|tonight|sharp|noon|בבוקר|בערב|בצהריימ|בלילה|אחר|אחהצ)$/
const BEFORE_TIME = /^(at|around|by|until|till|בשעה|ב|לפני|אחרי|סביבות)$/
const QUARTER = /^(quarter|[בו]?רבע)$/
const HALF = /^(half|וחצי)$/
const TO = /^(to|of|before|till)$/
const HOURS = 24
/** In an answer of at most this many words, a number alone is the hour that was asked for. */
const MAX_ANSWER_WORDS = 5

/** The time of day that was said, `hh:mm`; null: none. `isAnswer`: it was asked for; otherwise a number alone is none. */
export function timeIn(text: string, words: readonly Word[], isAnswer = false): string | null {
  const written = /\b([01]?\d|2[0-3])[:.]([0-5]\d)\s*([ap]\.?m)?/i.exec(text)
  if (written !== null) {
    const [, hour, minute, half = ''] = written
    // Half past twelve at night is written 12:30 am.
    return clock(Number(hour) % (/^a/i.test(half) ? 12 : HOURS), Number(minute), /^p/i.test(half) || isPm(words))
  }
  const bare = /\b(1[0-2]|[1-9])\s*([ap])\.?m\b/i.exec(text)
  if (bare !== null) return clock(Number(bare[1]) % 12, 0, bare[2]!.toLowerCase() === 'p')
  for (const number of numbersIn(words)) {
    if (streetOf(words, number) !== null) continue
    const said = saidAt(words, number, isAnswer && words.length <= MAX_ANSWER_WORDS)
    if (said !== null) return clock(said.hour, said.minute, isPm(words))
  }
  const named = words.find(word => word.text === 'noon' || word.text === 'midnight')
  return named === undefined ? null : named.text === 'noon' ? '12:00' : '00:00'
}

const isPm = (words: readonly Word[]): boolean => words.some(word => PM.test(word.text))

/** Reads an hour with the words before and after it; null: no time of day. */
function saidAt(
  words: readonly Word[],
  number: SaidNumber,
  isAnswer: boolean,
): { hour: number; minute: number } | null {
  const { value, digits, from, to } = number
  const [before, after] = [words[from - 1]?.text ?? '', words[to]?.text ?? '']
  const isMeant = isAnswer || BEFORE_TIME.test(before) || isOfDay(words, to)
  if (value === null) return isMeant ? fourFigures(digits) : null
  if (value > HOURS || /^(percent|minutes?|hours?|days?|weeks?)$/.test(after)) return null
  if (before === 'past' || before === 'after') {
    const minute = minutesBefore(words, from - 1)
    if (minute !== null) return { hour: value, minute }
  }
  if (TO.test(before) || QUARTER.test(before)) {
    const minute = before.endsWith('רבע') ? 15 : minutesBefore(words, from - 1)
    if (minute !== null) return { hour: (value + HOURS - 1) % HOURS, minute: 60 - minute }
  }
  // "Ten to five": the ten belongs to the five.
  if (/^(past|to)$/.test(after) && numbersIn(words).some(one => one.from === to + 1)) return null
  if (HALF.test(after)) return { hour: value, minute: 30 }
  if (QUARTER.test(after)) return { hour: value, minute: 15 }
  return isMeant || words[from]!.raw.startsWith('ב') ? { hour: value, minute: 0 } : null
}

/** Whether a part of the day follows, as in "in the morning". */
function isOfDay(words: readonly Word[], at: number): boolean {
  const behind = words.slice(at, at + 3).map(word => word.text)
  return PART_OF_DAY.test(behind[0] ?? '') || (behind[0] === 'in' && PART_OF_DAY.test(behind[2] ?? ''))
}

/** Minutes before `past` or `to`: "half", "quarter", or a number; null: none. */
function minutesBefore(words: readonly Word[], at: number): number | null {
  const place = /^minutes?$/.test(words[at - 1]?.text ?? '') ? at - 2 : at - 1
  const word = words[place]?.text ?? ''
  if (word === 'half') return 30
  if (QUARTER.test(word)) return 15
  const number = numbersIn(words).find(({ to }) => to === place + 1)
  return number?.value != null && number.value > 0 && number.value < 60 ? number.value : null
}

/** A time in digits only: "eleven fifteen". */
function fourFigures(digits: string): { hour: number; minute: number } | null {
  const match = /^(\d{1,2})([0-5]\d)$/.exec(digits)
  const hour = Number(match?.[1])
  return match === null || hour >= HOURS ? null : { hour, minute: Number(match[2]) }
}

function clock(hour: number, minute: number, isPm: boolean): string {
  const at = isPm && hour < 12 ? hour + 12 : hour % HOURS
  return `${String(at).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
}
