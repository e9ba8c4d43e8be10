import { findPhoneNumbersInText, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js'
import type { Word } from '../words/fold.ts'
import { isLight } from '../words/likeness.ts'
import { numbersIn } from '../words/numbers.ts'
import { streetOf } from '../words/streets.ts'

/** Country of a number without country code, by the language of the calls. */
const COUNTRIES: Readonly<Record<string, string>> = { en: 'US', he: 'IL', de: 'DE', fr: 'FR', es: 'ES', it: 'IT' }
const MIN_DIGITS = 7
const MAX_DIGITS = 15
/** A number that is invalid in its country counts with this many digits, or after one of these words. */
const FOREIGN_DIGITS = 10
const BY_PHONE = /^(call|phone|ring|reach|mobile|cell|telephone|dial|text|whatsapp|טלפונ|נייד|להתקשר|תתקשרו|תחזרו)$/

function countryOf(language: string): 'US' {
  const region = /-([A-Z]{2})$/.exec(language)?.[1] ?? COUNTRIES[language.split('-')[0]!] ?? 'US'
  return (isSupportedCountry(region) ? region : 'US') as 'US'
}

/** The telephone number that was said: in E.164 if it is valid in its country, otherwise its digits; null: none. `isAsked`: a number was asked for. */
export function phoneIn(text: string, words: readonly Word[], language: string, isAsked: boolean): string | null {
  const country = countryOf(language)
  const written = findPhoneNumbersInText(text, { defaultCountry: country })[0]
  if (written !== undefined) return written.number.number
  for (const { digits, from } of numbersIn(words)) {
    if (digits.length < MIN_DIGITS || digits.length > MAX_DIGITS || digits.includes('.')) continue
    const isInternational = words[from - 1]?.text === 'plus'
    const parsed = parsePhoneNumberFromString(isInternational ? `+${digits}` : digits, country)
    if (parsed?.isPossible() === true) return parsed.number
    const isPhone = isAsked || digits.length >= FOREIGN_DIGITS || words.some(({ text: word }) => BY_PHONE.test(word))
    if (isPhone) return digits
  }
  return null
}

const EMAIL = /[a-z0-9._%+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+/i
const SPOKEN: Readonly<Record<string, string>> = {
  __proto__: null as never,
  dot: '.',
  underscore: '_',
  dash: '-',
  hyphen: '-',
  נקודה: '.',
  מקפ: '-',
}

/** The e-mail address that was written or said: `ann dot smith at example dot com`. */
export function emailIn(text: string, words: readonly Word[]): string | null {
  const written = EMAIL.exec(text)
  if (written !== null) return written[0].toLowerCase()
  for (const [at, { text: word }] of words.entries()) {
    if ((word !== 'at' && word !== 'שטרודל') || at === 0) continue
    const before = spelled(words.slice(0, at).reverse()).reverse()
    const said = `${before.join('')}@${spelled(words.slice(at + 1)).join('')}`.toLowerCase()
    if (EMAIL.exec(said)?.[0] === said) return said
  }
  return null
}

/** The leading words that are joined by `dot` and the like. */
function spelled(words: readonly Word[]): string[] {
  const parts: string[] = []
  let wasWord = false
  for (const { text } of words) {
    const sign = SPOKEN[text] ?? figureOf(text)
    const isLetter = text.length === 1
    if (sign === undefined && wasWord && !isLetter && parts.at(-1)!.length > 1) break
    if (sign === undefined && isLight(text) && !wasWord && parts.length === 0 && text.length > 2) break
    parts.push(sign ?? text)
    wasWord = sign === undefined
  }
  return parts
}

const FIGURES = 'zero one two three four five six seven eight nine'.split(' ')
const figureOf = (word: string): string | undefined => {
  const figure = FIGURES.indexOf(word === 'oh' ? 'zero' : word)
  return figure < 0 ? undefined : String(figure)
}

const INTRODUCTIONS = [
  /\b(?:my name is|my name['’]s|i am called|the name is|name['’]s)\s+/i,
  // Not "This is ridiculous": a name has a capital letter, or is followed by `calling` and the like.
  /\b[Tt]his is\s+(?=[A-Z])/,
  /\bthis is\s+(?=(?:[\w'’-]+\s+){1,2}(?:calling|speaking|here)\b)/i,
  /\b(?:[Ii]['’]m|[Ii] am)\s+(?=[A-Z][a-z]+(?:\s+[A-Z][a-z]+)?\b)/,
  /\b[Cc]all me\s+(?=[A-Z])/,
  /(?:שמי|קוראים לי|השם שלי(?: הוא)?|מדברת?)\s+/,
]
const NO_NAME = new Set(
  'fine great good perfect correct right exactly thanks maybe calling speaking here from and about looking with not very so just going wrong spelled misspelled written incorrect missing already really still also monday tuesday wednesday thursday friday saturday sunday back later tomorrow today now again sorry let what one moment not why have it'.split(
    ' ',
  ),
)
const TITLE = /^(dr|mr|mrs|ms|prof)$/
const MAX_NAME_WORDS = 3

/** An introduction that counts only after the name was asked for. */
const INTRODUCTION_ASKED = /\bthis is\s+/i

/** The name in an introduction; null: none. `isAsked`: a short answer is a name by itself. */
export function nameIn(text: string, words: readonly Word[], isAsked: boolean): string | null {
  for (const introduction of isAsked ? [...INTRODUCTIONS, INTRODUCTION_ASKED] : INTRODUCTIONS) {
    const match = introduction.exec(text)
    if (match === null) continue
    const name = nameFrom(
      words.filter(({ from }) => from >= match.index + match[0].length),
      text,
    )
    if (name !== null) return name
  }
  if (!isAsked) return null
  for (const sentence of sentencesOf(text, words)) {
    const told = sentence.filter(({ text: word }) => !LED_IN.test(word))
    const name = told.length <= MAX_NAME_WORDS ? nameFrom(told, text) : null
    if (name !== null) return name
  }
  return null
}

/** Words with which a short answer may begin. */
const LED_IN =
  /^(it|its|is|yes|sure|ok|okay|well|hi|hello|um|uh|oh|thanks|under|that|would|be|my|name|full|first|last|זה|כנ|אז|השמ|שמי|עלשמ|על|שמ)$/

/** The words of a text, by sentence. */
function sentencesOf(text: string, words: readonly Word[]): Word[][] {
  const sentences: Word[][] = [[]]
  for (const [at, word] of words.entries()) {
    if (at > 0 && /[.!?]/.test(text.slice(words[at - 1]!.to, word.from))) sentences.push([])
    sentences.at(-1)!.push(word)
  }
  return sentences
}

function nameFrom(words: readonly Word[], text: string): string | null {
  const name: Word[] = []
  for (const word of words.slice(0, MAX_NAME_WORDS)) {
    const before = name.at(-1)
    const between = before === undefined ? '' : text.slice(before.to, word.from)
    const isBroken = /[.,;!?]/.test(TITLE.test(before?.text ?? '') ? between.replace('.', '') : between)
    if (isBroken || NO_NAME.has(word.text) || isLight(word.text) || /\d/.test(word.text)) break
    name.push(word)
  }
  if (name.length === 0 || TITLE.test(name.at(-1)!.text)) return null
  return name.map(({ raw }) => raw[0]!.toUpperCase() + raw.slice(1)).join(' ')
}

/** A street with its number, as it was said; null: none. */
export function addressIn(text: string, words: readonly Word[]): string | null {
  for (const number of numbersIn(words)) {
    const street = streetOf(words, number)
    if (street !== null) return slice(text, words, ...street)
  }
  return null
}

const slice = (text: string, words: readonly Word[], from: number, to: number): string =>
  text.slice(words[from]!.from, words[to]!.to)
