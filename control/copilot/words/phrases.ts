import { remembered } from '../../kernel/remembered.ts'
import { type Word, wordsOf } from './fold.ts'
import { isLight, likeness } from './likeness.ts'

/** What is looked for in what is said. */
export interface Phrase {
  words: readonly { text: string; weight: number }[]
  weight: number
  isNegated: boolean
}

/** Where it was said: words from (including) to (excluding). */
export interface PhraseMatch {
  from: number
  to: number
}

const MAX_REMEMBERED = 20_000
const LIGHT_WEIGHT = 0.35
/** Of the phrase's weight as it was said, at least. */
const MIN_SHARE = 0.82
/** Words that may stand between those of a phrase, in all. */
const MAX_BETWEEN = 2
const MAX_BETWEEN_LONG = 3
const LONG = 5
const NEGATIONS = new Set(
  'not no never dont doesnt didnt cant cannot couldnt wont wouldnt isnt arent wasnt shouldnt without nor לא אינ אינני אינו אינה בלי'.split(
    ' ',
  ),
)

export const isNegation = (word: string): boolean => NEGATIONS.has(word)

export const phraseOf = remembered(MAX_REMEMBERED, (text: string): Phrase => {
  const all = wordsOf(text).map(word => word.text)
  const isAllLight = all.every(isLight)
  const words = all.map(word => ({
    text: word,
    weight: isLight(word) && !isAllLight && !isNegation(word) ? LIGHT_WEIGHT : 1,
  }))
  return { words, weight: words.reduce((sum, { weight }) => sum + weight, 0), isNegated: all.some(isNegation) }
})

/** The first place where a phrase was said, also in other forms, slightly misheard, or with a word or two between. */
export function findPhrase(said: readonly Word[], phrase: Phrase): PhraseMatch | null {
  if (phrase.words.length === 0) return null
  for (let at = 0; at < said.length; at++) {
    const match = alignedAt(said, at, phrase)
    if (match !== null) return match
  }
  return null
}

function alignedAt(said: readonly Word[], at: number, phrase: Phrase): PhraseMatch | null {
  if (!phrase.isNegated && at > 0 && isNegation(said[at - 1]!.text)) return null
  const between = phrase.words.length >= LONG ? MAX_BETWEEN_LONG : Math.min(MAX_BETWEEN, phrase.words.length - 1)
  let [next, skipped, lost, end, got] = [at, 0, 0, -1, 0]
  for (const { text, weight } of phrase.words) {
    const found = findWord(said, next, next + (end < 0 ? 0 : between - skipped), text, phrase.isNegated)
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

function findWord(
  said: readonly Word[],
  from: number,
  to: number,
  wanted: string,
  mayNegate: boolean,
): { index: number; like: number } | null {
  for (let index = from; index <= to && index < said.length; index++) {
    const like = likeness(said[index]!.text, wanted)
    if (like > 0) return { index, like }
    if (!mayNegate && isNegation(said[index]!.text)) return null
  }
  return null
}

/** The first of these phrases that was said; null: none. */
export function anySaid(said: readonly Word[], phrases: readonly string[]): string | null {
  return phrases.find(text => findPhrase(said, phraseOf(text)) !== null) ?? null
}
