import { LRUCache } from 'lru-cache'
import { remembered } from '../../kernel/remembered.ts'
import { type Word, wordsOf } from './fold.ts'
import { isLight, likeness } from './likeness.ts'
import { isNegation, negates } from './negations.ts'
import { areSynonyms } from './synonyms.ts'

/** A phrase to be searched for in what is said. */
interface Phrase {
  words: readonly { text: string; weight: number }[]
  weight: number
  isNegated: boolean
  /** The letters of all its words. */
  letters: string
}

/** Where it was said: range of words, `from` inclusive, `to` exclusive. */
interface PhraseMatch {
  from: number
  to: number
}

const MAX_REMEMBERED = 20_000
const MAX_SAID = 16
const LIGHT_WEIGHT = 0.35
/** Weight of a synonym. */
const SYNONYM = 0.9
/** Minimum share of a phrase's weight that must have been said. */
const MIN_SHARE = 0.82
/** Maximum number of other words between those of a phrase, in all. */
const MAX_BETWEEN = 2
const MAX_BETWEEN_LONG = 3
const LONG = 5
/** Minimum length of a phrase that may be split into words differently [letters]. */
const MIN_LETTERS = 8
/** Words that may stand between a negation and what it negates: "I do not want to …". Stop words may too. */
const WISHES = new Set(
  'say says said claim claimed promise promised want wants wanted going wish wished plan planned planning intend intended meant tried thought trying try need like mean meaning about think רוצה רוצימ רוצות הולכ הולכת מתכוונ מתכוונת מתכננ מתכננת מבקש מבקשת מנסה'.split(
    ' ',
  ),
)
/** Maximum distance of a negation before a phrase [words]. */
const UNSAID_REACH = 6
/** Negations that may also be an answer, and then negate only the word beside them. */
const ANSWERS = new Set(['no', 'לא'])

export const phraseOf = remembered(MAX_REMEMBERED, (text: string): Phrase => {
  const all = wordsOf(text).map(word => word.text)
  const isAllLight = all.every(isLight)
  const words = all.map(word => ({
    text: word,
    weight: isLight(word) && !isAllLight && !isNegation(word) ? LIGHT_WEIGHT : 1,
  }))
  return {
    words,
    weight: words.reduce((sum, { weight }) => sum + weight, 0),
    isNegated: all.some(isNegation),
    letters: all.join(''),
  }
})

/** The first place where a phrase was said, also in inflected forms, slightly misheard, or with a few words in between; null: none. */
export function findPhrase(said: readonly Word[], phrase: Phrase): PhraseMatch | null {
  if (phrase.words.length === 0) return null
  const isThere = hasWords(said, phrase)
  for (let at = 0; at < said.length; at++) {
    const match =
      (isThere ? alignedAt(said, at, phrase) : null) ??
      runTogetherAt(said, at, phrase) ??
      (isThere ? turnedAt(said, at, phrase) : null)
    if (match !== null) return match
  }
  return null
}

/** Whether a word occurs, by recent utterance: thousands of phrases consist of some hundred words. */
const saidLast = new LRUCache<readonly Word[], Map<string, boolean>>({ max: MAX_SAID })

/** Whether enough of a phrase's words occur at all, in any place. */
function hasWords(said: readonly Word[], { words, weight }: Phrase): boolean {
  const known = saidLast.get(said) ?? new Map<string, boolean>()
  if (known.size === 0) saidLast.set(said, known)
  let lost = 0
  for (const word of words) {
    let isSaid = known.get(word.text)
    if (isSaid === undefined) {
      isSaid = said.some(({ text }) => likenessOf(text, word.text) > 0)
      known.set(word.text, isSaid)
    }
    if (!isSaid) lost += word.weight
  }
  return lost <= weight * (1 - MIN_SHARE)
}

/** A match of the same letters, split into words differently: "have an ice day". */
function runTogetherAt(said: readonly Word[], at: number, phrase: Phrase): PhraseMatch | null {
  const { letters } = phrase
  if (letters.length < MIN_LETTERS || said[at]!.text[0] !== letters[0]) return null
  let joined = ''
  for (let to = at; to < said.length && joined.length < letters.length; to++) {
    joined += said[to]!.text
    if (!letters.startsWith(joined)) return null
    if (joined === letters) return !phrase.isNegated && isUnsaid(said, at) ? null : { from: at, to: to + 1 }
  }
  return null
}

function alignedAt(said: readonly Word[], at: number, phrase: Phrase): PhraseMatch | null {
  if (!phrase.isNegated && isUnsaid(said, at)) return null
  const between = phrase.words.length >= LONG ? MAX_BETWEEN_LONG : Math.min(MAX_BETWEEN, phrase.words.length - 1)
  let [next, skipped, lost, end, got] = [at, 0, 0, -1, 0]
  for (const { text, weight } of phrase.words) {
    const found = findWord(said, next, next + (end < 0 ? 0 : between - skipped), text)
    if (found === null) {
      lost += weight
      if (lost > phrase.weight * (1 - MIN_SHARE)) return null
      continue
    }
    got += weight * found.like
    skipped += found.index - next
    next = found.index + 1
    end = next
  }
  return got >= phrase.weight * MIN_SHARE && end > 0 ? { from: at, to: end } : null
}

/** A match of the content words in order, with the stop words in any order around them: "have you got a minute" for "do you have a minute". */
function turnedAt(said: readonly Word[], at: number, phrase: Phrase): PhraseMatch | null {
  const telling = phrase.words.filter(({ weight }) => weight === 1)
  const light = phrase.words.filter(({ weight }) => weight < 1)
  if (light.length < 2 || phrase.isNegated || likenessOf(said[at]!.text, telling[0]?.text ?? '') === 0) return null
  let [next, got] = [at, 0]
  for (const { text } of telling) {
    const found = findWord(said, next, next === at ? at : next + MAX_BETWEEN, text)
    if (found === null) return null
    got += found.like
    next = found.index + 1
  }
  let [from, to] = [at, next]
  while (from > 0 && at - from < light.length + 1 && !said[from]!.opens && isLight(said[from - 1]!.text)) from--
  while (to < said.length && to - next < light.length && !said[to]!.opens && isLight(said[to]!.text)) to++
  if (isUnsaid(said, from) || said.slice(from, to).some((_, i) => negates(said, from + i))) return null
  const around = said.slice(from, to).map(word => word.text)
  got += light.filter(({ text }) => around.includes(text)).length * LIGHT_WEIGHT
  return got >= phrase.weight * MIN_SHARE ? { from, to } : null
}

/** Whether what begins here is negated within the same clause. */
function isUnsaid(said: readonly Word[], at: number): boolean {
  for (let back = 1; back <= Math.min(UNSAID_REACH, at) && !said[at - back + 1]!.opens; back++) {
    const { text } = said[at - back]!
    if (negates(said, at - back)) return back === 1 || !ANSWERS.has(text) || isWish(said[at - back + 1]!.text)
    if (!WISHES.has(text) && !isLight(text)) return false
  }
  return false
}

/** Whether a word expresses a wish, right after a negation: not in "no, I want …". */
const isWish = (word: string): boolean => WISHES.has(word)

function findWord(
  said: readonly Word[],
  from: number,
  to: number,
  wanted: string,
): { index: number; like: number } | null {
  for (let index = from; index <= to && index < said.length; index++) {
    const like = likenessOf(said[index]!.text, wanted)
    if (like > 0) return { index, like }
    if (isNegation(said[index]!.text)) return null
  }
  return null
}

const likenessOf = (said: string, wanted: string): number =>
  likeness(said, wanted) || (areSynonyms(said, wanted) ? SYNONYM : 0)

/** The first of these phrases that was said; null: none. */
export function anySaid(said: readonly Word[], phrases: readonly string[]): string | null {
  return phrases.find(text => findPhrase(said, phraseOf(text)) !== null) ?? null
}
