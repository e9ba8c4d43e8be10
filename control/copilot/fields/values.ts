import type { DateTime } from 'luxon'
import { compileSpoken } from '../../kernel/pattern.ts'
import { dateIn } from '../words/dates.ts'
import { isHebrew, type Word, wordsOf } from '../words/fold.ts'
import { isLight, likeness } from '../words/likeness.ts'
import { negates } from '../words/negations.ts'
import { numbersIn } from '../words/numbers.ts'
import { findPhrase, phraseOf } from '../words/phrases.ts'
import { timeIn } from '../words/times.ts'
import { addressIn, emailIn, nameIn, phoneIn } from './contact.ts'
import type { Field } from './mention.ts'

/** An utterance in which a field's value is searched for. */
interface Said {
  text: string
  words: readonly Word[]
  language: string
  /** The day of the call. */
  today: DateTime
  /** The field was asked for just before, or is mentioned in these words. */
  isAsked: boolean
  /** The field was asked for just before. */
  isAnswer: boolean
  /** It is the only field of its type, so it need not be named. */
  isOnly: boolean
}

const MAX_SPAN = 8
const MAX_ANSWER_WORDS = 12

/** The value of a field in what the customer said, in the form that its type has; null: none. */
export function fieldValue(field: Field, said: Said): string | null {
  const { text, words, language, today } = said
  const isMeant = said.isAsked || said.isOnly
  switch (field.type) {
    case 'phone':
      return isMeant ? fitting(field, phoneIn(text, words, language, said.isAsked)) : null
    case 'email':
      return isMeant ? fitting(field, emailIn(text, words)) : null
    case 'date':
      return isMeant ? fitting(field, dateIn(text, words, today, said.isAsked)) : null
    case 'time':
      return isMeant ? fitting(field, timeIn(text, words, said.isAnswer)) : null
    case 'money':
      return isMeant ? fitting(field, moneyIn(text, words, said.isAsked)) : null
    case 'number':
      return said.isAsked && phoneIn(text, words, language, true) === null
        ? fitting(field, numberIn(words, said.isAnswer))
        : null
    case 'boolean':
      return said.isAnswer ? answerIn(words) : null
    case 'choice':
      return optionIn(field.options, said)
    case 'name':
      return isMeant ? fitting(field, nameIn(text, words, said.isAsked)) : null
    case 'address':
      return isMeant ? fitting(field, addressIn(text, words) ?? (said.isAsked ? answer(text, words) : null)) : null
    case 'text':
      return field.pattern === '' ? (said.isAsked ? answer(text, words) : null) : patternIn(field.pattern, text, words)
  }
}

/** Whether a person may write this value into the field. */
export function accepts(field: Field, value: string): boolean {
  if (field.options.length > 0 && field.type === 'choice') return field.options.includes(value)
  return field.pattern === '' || matches(field.pattern, value)
}

const fitting = (field: Field, value: string | null): string | null =>
  value !== null && (field.pattern === '' || matches(field.pattern, value)) ? value : null

function matches(source: string, text: string): boolean {
  const pattern = compileSpoken(source)
  return typeof pattern !== 'string' && pattern.matches(text)
}

/** The longest run of words that matches the pattern, as written or as letters and digits said one by one. */
function patternIn(source: string, text: string, words: readonly Word[]): string | null {
  const numbers = numbersIn(words)
  for (let length = Math.min(MAX_SPAN + 4, words.length); length > 0; length--) {
    for (let from = 0; from + length <= words.length; from++) {
      const written = text.slice(words[from]!.from, words[from + length - 1]!.to)
      if (matches(source, written)) return written
      const joined = joinedFrom(words, numbers, from, from + length)
      if (joined !== null && matches(source, joined)) return joined
    }
  }
  return null
}

function joinedFrom(
  words: readonly Word[],
  numbers: ReturnType<typeof numbersIn>,
  from: number,
  to: number,
): string | null {
  let joined = ''
  for (let at = from; at < to; ) {
    const number = numbers.find(one => one.from === at)
    if (number !== undefined && number.to > to) return null
    if (number === undefined && numbers.some(one => one.from < at && at < one.to)) return null
    joined += number?.digits ?? words[at]!.raw.toUpperCase()
    at = number?.to ?? at + 1
  }
  return joined
}

const CURRENCIES: readonly (readonly [RegExp, RegExp, string])[] = [
  [/^(dollars?|bucks?|usd|דולר|דולרימ)$/, /\$/, 'USD'],
  [/^(euros?|eur|יורו)$/, /€/, 'EUR'],
  [/^(pounds?|quid|gbp)$/, /£/, 'GBP'],
  [/^(shekels?|nis|ils|שקל|שקלימ|שח)$/, /₪/, 'ILS'],
]

function moneyIn(text: string, words: readonly Word[], isAsked: boolean): string | null {
  for (const { value, digits, from, to } of numbersIn(words)) {
    const currency = CURRENCIES.find(
      ([name, sign]) => name.test(words[to]?.text ?? '') || signBy(text, words[from]!, words[to - 1]!, sign),
    )
    if (currency !== undefined) return `${(value ?? Number(digits)) + centsAfter(words, to)} ${currency[2]}`
    if (isAsked && value !== null) return String(value)
  }
  return null
}

const CENTS = /^(cents?|pence|agorot)$/

/** The cents in "… dollars and fifty cents". */
function centsAfter(words: readonly Word[], currencyAt: number): number {
  const cents = numbersIn(words).find(({ from }) => from > currencyAt && from <= currencyAt + 2)
  return cents?.value != null && CENTS.test(words[cents.to]?.text ?? '') ? cents.value / 100 : 0
}

const signBy = (text: string, first: Word, last: Word, sign: RegExp): boolean =>
  sign.test(text.slice(Math.max(0, first.from - 2), first.from)) || sign.test(text.slice(last.to, last.to + 2))

function numberIn(words: readonly Word[], isAnswer: boolean): string | null {
  const [number] = numbersIn(words)
  const said = words.map(({ text }) => text).join(' ')
  if (number === undefined && isAnswer && NOBODY.test(said)) return '0'
  if (number === undefined && isAnswer && MYSELF.test(said)) return '1'
  return number === undefined ? null : number.value === null ? number.digits : String(number.value)
}

const NOBODY = /^(?:none|nobody|no one|not any|zero|אפ אחד|כלומ)\b/
const MYSELF = /\b(?:just|only) (?:me|myself|the one)\b|רק אני/

const YES = /^(yes|yeah|yep|yup|sure|correct|right|absolutely|definitely|certainly|כנ|נכונ|בטח|ודאי|בהחלט)$/
const NO = /^(no|nope|nah|not|never|dont|לא|אינ|ממש)$/

/** Answers that repeat only the verb: "yes, I do". */
const IN_FULL = /^(?:well )?(?:i|we|it|they|he|she) (?:do|am|are|have|has|did|is|was|will|would|can|could)$/
const OF_COURSE = /^(?:of course|no problem|no worries|that is right|that is correct|i think so|i believe so)( not)?\b/
const UNDECIDED = /\b(?:not sure|do not know|no idea)\b|לא יודע|לא בטוח/

/** Yes or no, from the beginning of an answer; null: neither. */
function answerIn(words: readonly Word[]): string | null {
  const said = words.map(({ text }) => text).join(' ')
  if (UNDECIDED.test(said)) return null
  const course = OF_COURSE.exec(said)
  if (course !== null) return String(course[1] === undefined)
  for (const { text } of words.slice(0, 3)) {
    if (NO.test(text)) return 'false'
    if (YES.test(text)) return 'true'
  }
  if (/\bafraid not\b/.test(said)) return 'false'
  const end = words.findIndex(({ opens }, at) => at > 0 && opens)
  const first = words.slice(0, end < 0 ? undefined : end)
  return IN_FULL.test(first.map(({ text }) => text).join(' ')) ? 'true' : null
}

function optionIn(options: readonly string[], { words, isAsked }: Said): string | null {
  let best: { option: string; length: number; to: number } | null = null
  for (const option of options) {
    const phrase = phraseOf(option)
    if (!isAsked && phrase.words.every(({ text }) => isLight(text))) continue
    const match = findPhrase(words, phrase)
    if (match === null) continue
    const { length } = phrase.words
    if (best === null || length > best.length || (length === best.length && match.to > best.to)) {
      best = { option, length, to: match.to }
    }
  }
  return best?.option ?? (isAsked ? optionByWord(options, words) : null)
}

/** The only option with a word that was said and that no other option has: "by card". */
function optionByWord(options: readonly string[], words: readonly Word[]): string | null {
  const telling = options.map(option => wordsOf(option).flatMap(({ text }) => (isLight(text) ? [] : [text])))
  const said = options.filter((_, n) =>
    telling[n]!.some(word => {
      const isOwn = telling.every((others, other) => other === n || !others.includes(word))
      return (
        isOwn &&
        words.some(({ text }, at) => likeness(text, word) > 0 && !words.slice(0, at).some((_w, i) => negates(words, i)))
      )
    }),
  )
  return said.length === 1 ? said[0]! : null
}

const LEAD = /^(it is|it's|that's|that is|its|yes|sure|ok|okay|well|um|uh|the|זה|כן|אז)\b[\s,]*/i

/** A short answer without introductory words; null: it is not short. */
function answer(text: string, words: readonly Word[]): string | null {
  if (words.length === 0 || words.length > MAX_ANSWER_WORDS) return null
  let bare = text.trim().replace(/[.!?]+$/, '')
  for (let cut = 0; cut < 2; cut++) bare = isHebrew(bare) ? bare.replace(/^(זה|כן|אז)\s+/, '') : bare.replace(LEAD, '')
  return bare === '' || /\?$/.test(text.trim()) ? null : bare
}
