import { readFileSync } from 'node:fs'
import { plainWords } from '../../flows/engine/conditions.ts'
import { PACKAGE_ROOT } from '../../kernel/package.ts'
import { remembered } from '../../kernel/remembered.ts'

const MAX_REMEMBERED = 20_000

/** Words that say nothing about the topic of a question. */
const STOP_WORDS = new Set(
  'a about all am an and any anything are as at be been being but by can could did do does doing don t for from had has have having hello hey hi how i if in into is isn it its just ll m me may might much my no not of oh ok okay on one or our out please re s shall should so some something somebody someone such sure tell than that the their them then there these they thing things this those to too u us very ve was we well were what when where whether which while who whom whose why will with would yeah yes yet you your yours yourself really actually maybe kind like also need want know wondering get got give going go come say let here also many long often far exactly roughly about around think guys ask question bit lot sorry thank thanks possible exist happen able another other usually normally still already anybody anyone everybody everyone nobody somewhere anywhere everything each per'.split(
    ' ',
  ),
)

/** Phrases of several words, or in several forms, for one thing. The order matters. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\bwi fi\b/g, 'wifi'],
  [/\be (bike|mail)(s?)\b/g, 'e$1$2'],
  [/\bcheck(ing|ed)? (in|out|up)(s?)\b/g, 'check$2$3'],
  [/\b(front desk|receptionist)\b/g, 'reception'],
  [/\b(bring|bringing|give|giving|take|taking|send|sending|get|money|brought|sent)( \w+){0,2} back\b/g, 'return'],
  [/\bpart exchange\b/g, 'tradein old'],
  [/\btrade in\b/g, 'tradein'],
  [/\bair con(ditioning|ditioner)?\b/g, 'aircon'],
  [
    /\b(is|are|it s|isn t|does|doesn t|do|don t|has)?( not)? ?(working|broken|out of order|stopped working)( any ?more)?\b/g,
    ' $3 broken ',
  ],
  [/\b(not work|doesn t work|don t work|went down|goes down|is down|s down|kaputt)\b/g, 'broken'],
  [/\b(tooth|head|stomach) ache\b/g, '$1ache'],
  [/\bgluten free\b/g, 'glutenfree'],
  [/\bnon smoking\b/g, 'smoking'],
  [/\b(apple|google) pay\b/g, '$1pay pay'],
  [/\b(day and night|around the clock|24 7|24 hours|twenty four hours)\b/g, 'day night always open'],
  [/\bhigh chair/g, 'highchair'],
  [/\bcredit card|debit card|mastercard\b/g, 'card'],
  [/\bgift (card|voucher)/g, 'giftcard'],
  [/\bwhere (is|s) my (order|parcel|package|delivery|pizza|food|bike|shipment)\b/g, 'tracking $2'],
  [/\blost (property|and found)\b/g, 'lost property'],
  [/\bfree of charge\b/g, 'free'],
  [/\bcar park\b|\bpark (my|the|our|a) car\b/g, 'parking'],
  [/\bright now\b|\bat the moment\b|\bcurrently\b/g, 'now'],
  [/\bhow old\b/g, 'age older'],
  [/\bpick(ed|ing)?( \w+){0,2} up\b|\bpick(ed|ing)? up\b/g, 'collect'],
  [/\bhouse calls?\b/g, 'home visit'],
  [/\b(show|turns?|showing|turning) up\b|\b(don t|do not|doesn t|does not|didn t) (come|appear)\b/g, 'noshow'],
  [/\bcosts? (anything )?extra\b|\bextra (cost|charge|fee)\b/g, 'included'],
  [/\btext message\b/g, 'textmessage message'],
]

/** Words that callers and businesses use for the same thing: each row is one (`fixtures/words`). */
const SAME = readFileSync(new URL('fixtures/words/same.txt', PACKAGE_ROOT), 'utf8').trimEnd().split('\n')

/** Days, numbers and the like are close in the vector space, but never mean the same. */
const APART = new Set(
  'monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december one two three four five six seven eight nine ten eleven twelve hundred thousand first second third morning afternoon evening night today tomorrow minute hour day week month year open closed close opening early late old new start end buy sell large small big weekend weekday'.split(
    ' ',
  ),
)

/** The stem that the forms of a word share: `opening` and `open`, `deliveries` and `delivery`. */
export const stem = remembered(MAX_REMEMBERED, (word: string): string => {
  if (word.length <= 3) return word
  const cut = word
    .replace(/ies$/, 'y')
    .replace(/(sses|shes|ches|xes)$/, match => match.slice(0, -2))
    .replace(/(?<=[^aeiou]..*|..)(ing|ed)$/, '')
    .replace(/(?<!s)s$/, '')
    .replace(/([bdgklmnprt])\1$/, '$1')
    .replace(/e$/, '')
  return cut.length < 2 ? word : cut
})

/** By each form of their words, the rows that it is in. */
export function rowsByForm(rows: readonly string[], formsOf: (word: string) => readonly string[]) {
  const found = new Map<string, Set<number>>()
  for (const [at, row] of rows.entries()) {
    for (const form of row.split(' ').flatMap(formsOf)) found.set(form, (found.get(form) ?? new Set()).add(at))
  }
  return found
}

const groups = rowsByForm(SAME, word => [word, stem(word)])

const groupsOf = remembered(
  MAX_REMEMBERED,
  (word): ReadonlySet<number> => groups.get(word) ?? groups.get(stem(word)) ?? new Set(),
)

export function areInOneRow(some: ReadonlySet<number>, others: ReadonlySet<number>): boolean {
  for (const row of some) if (others.has(row)) return true
  return false
}

/** Whether two words mean the same in a question. */
export const areSame = (a: string, b: string): boolean => areInOneRow(groupsOf(a), groupsOf(b))

export const isApart = (word: string): boolean => APART.has(word) || APART.has(stem(word)) || /\d/.test(word)

/** The words that mean the same as this one. */
export const sameWords = (word: string): string[] =>
  [...(groups.get(word) ?? groups.get(stem(word)) ?? [])].flatMap(at => SAME[at]!.split(' '))

/** A text as plain words, with phrases for one thing replaced by one word. */
export const phrased = (text: string): string =>
  PHRASES.reduce(
    (words, [from, to]) => words.replace(from, to),
    plainWords(text.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('%', ' percent ')),
  )
    .replace(/ +/g, ' ')
    .trim()

export const isStopWord = (word: string): boolean => STOP_WORDS.has(word)

/** The words of a text without stop words. */
export const tellingWords = (text: string): string[] =>
  phrased(text)
    .split(' ')
    .filter(word => word !== '' && !STOP_WORDS.has(word))
