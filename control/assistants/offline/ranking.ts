import { soundDistance } from '../../flows/sounds.ts'
import { areSame, isApart, stem } from './english.ts'
import type { Fact, Kind } from './knowledge.ts'
import type { Part } from './question.ts'
import { nearness, rankOf } from './word-vectors.ts'

/** Words of this similarity in meaning begin to count (`from`), and count fully (`to`). */
const NEAR = { from: 0.42, to: 0.95 }
/** Weight of a match that is not the word itself. */
const COUNTS = { stem: 1, same: 0.9, near: 0.75, sound: 0.7, heading: 0.85, before: 0.35, pronoun: 0.8, compound: 0.6 }
/** Maximum distance in sound at which a word counts as misheard for another. */
const ALIKE = 0.2
/** Words of nearly every offer and request, which tell little. */
const LIGHT = new Set(
  'safe offer provide sell buy use work take taken make find know see look bring want need help start put try keep arrive visit people place shop store company business practice service hotel day time call accept allow allowed send sent welcome answer per last next week night morning afternoon evening today tomorrow tonight now weekend minute hour part normal regular standard whole different special available offer pm am euro dollar pound buck money monday tuesday wednesday thursday friday saturday sunday'.split(
    ' ',
  ),
)
/** Numbers, as digits or in words, are rarely what a question is about. */
const NUMBER =
  /^(\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)$/
const LIGHT_WEIGHT = 0.25
const REMARK_WEIGHT = 0.5
const UNKNOWN_WEIGHT = 0.9
/** Minimum match of a word in the sentence itself, not in its heading. */
const MIN_OWN = 0.4
/** Factor for a sentence within a paragraph of which only the heading matches. */
const ONLY_BY_HEADING = 0.6
const ALIEN_WEIGHT = 0.6
const ALIEN_MALUS = 0.07
/** Weight of precision: of two sentences that match equally well, the more specific one wins. */
const PRECISION = 0.15
/** Weight of the kind of answer that was asked for. */
const KIND_BONUS = 0.25
const KIND_MALUS = 0.3

export interface Ranked {
  fact: Fact
  /** How much of the question the sentence covers, 0 to 1. */
  coverage: number
  /** The same for the most telling word only. */
  head: number
  /** The best match of any word of the question. */
  strongest: number
  score: number
}

/** A word of the question: its weight, and its similarity to each word of the documents. */
interface Wanted {
  word: string
  weight: number
  /** Similarity by word, filled as words occur. */
  matches: Map<string, number>
  /** It occurs in the documents, so it was not misheard. */
  isKnown: boolean
}

/** The sentences, ranked by how well they answer; the best first. */
export function rank(part: Part, facts: readonly Fact[]): Ranked[] {
  const frequency = (word: string): number => {
    const root = stem(word)
    return facts.filter(({ stems }) => stems.has(root)).length
  }
  const wanted = joined(part.words, facts).map((word): Wanted => {
    const found = frequency(word)
    const weight = weightOf(word, found) * (part.remark.has(word) ? REMARK_WEIGHT : 1)
    return { word, weight, matches: new Map(), isKnown: found > 0 }
  })
  const sum = wanted.reduce((total, { weight }) => total + weight, 0)
  const heaviest = Math.max(0, ...wanted.map(({ weight }) => weight))
  const aliens = wanted.filter(word => word.weight >= ALIEN_WEIGHT && isAlien(word, facts)).length
  return facts
    .map((fact, at) => {
      const before = facts[at - 1]?.paragraph === fact.paragraph ? facts[at - 1]! : null
      const matches = wanted.map(word => ({ weight: word.weight, match: matchOf(word, fact, before) }))
      const spoken = sum === 0 ? 0 : matches.reduce((total, { weight, match }) => total + weight * match, 0) / sum
      const isLead = before === null || PRONOUN.test(fact.text) || wanted.some(word => ownMatch(word, fact) >= MIN_OWN)
      const coverage = (isLead ? spoken : spoken * ONLY_BY_HEADING) - ALIEN_MALUS * aliens
      const head = Math.max(0, ...matches.filter(({ weight }) => weight === heaviest).map(({ match }) => match))
      const strongest = Math.max(0, ...matches.map(({ match }) => match))
      return {
        fact,
        coverage,
        head,
        strongest,
        score: coverage + kindScore(part, fact) + PRECISION * precision(wanted, fact),
      }
    })
    .sort((a, b) => b.score - a.score)
}

/** Joins two words that are one in the documents, since speech recognition may split a word: `in plants`. */
function joined(words: readonly string[], facts: readonly Fact[]): string[] {
  const known = new Set(facts.flatMap(({ words }) => words))
  const result: string[] = []
  for (let at = 0; at < words.length; at++) {
    const both = `${words[at]}${words[at + 1] ?? ''}`
    if (words[at + 1] !== undefined && known.has(both)) {
      result.push(both)
      at++
    } else result.push(words[at]!)
  }
  return result
}

/** Weight of a word: a rare one tells more than a frequent one, in the language and in these documents. */
function weightOf(word: string, frequency: number): number {
  if (LIGHT.has(word) || LIGHT.has(stem(word)) || NUMBER.test(word)) return LIGHT_WEIGHT
  const at = rankOf(word)
  const general = at === null ? UNKNOWN_WEIGHT : Math.min(1, Math.max(0.35, Math.log10(at + 10) / 4))
  return general / (1 + 0.15 * Math.max(0, frequency - 1))
}

/** Whether a known word is close to nothing in the documents, which are then about something else. */
const isAlien = (wanted: Wanted, facts: readonly Fact[]): boolean =>
  rankOf(wanted.word) !== null &&
  facts.every(fact => ownMatch(wanted, fact) < MIN_OWN && exactMatch(wanted.word, fact.headingWords) === 0)

/** Which share of the sentence's words the question contains. */
const precision = (wanted: readonly Wanted[], fact: Fact): number =>
  fact.words.filter(other => wanted.some(word => wordMatch(word, other) >= MIN_OWN)).length /
  Math.max(4, fact.words.length)

function ownMatch(wanted: Wanted, fact: Fact): number {
  if (fact.stems.has(stem(wanted.word))) return COUNTS.stem
  return Math.max(0, ...fact.words.map(other => wordMatch(wanted, other)))
}

/** A sentence that begins like this continues the one before it. */
const PRONOUN = /^(it|they|this|these|he|she)\b/i

function matchOf(wanted: Wanted, fact: Fact, before: Fact | null): number {
  const { word } = wanted
  const own = ownMatch(wanted, fact)
  if (own >= COUNTS.heading) return own
  const heading = COUNTS.heading * exactMatch(word, fact.headingWords)
  const near = PRONOUN.test(fact.text) ? COUNTS.pronoun : COUNTS.before
  const context = before === null ? 0 : near * exactMatch(word, before.words)
  return Math.max(own, heading, context)
}

const exactMatch = (word: string, words: readonly string[]): number =>
  words.some(other => other === word || stem(other) === stem(word) || areSame(other, word)) ? 1 : 0

function wordMatch({ word, matches, isKnown }: Wanted, other: string): number {
  const known = matches.get(other)
  if (known !== undefined) return known
  const match = areSame(word, other)
    ? COUNTS.same
    : stem(word) === stem(other)
      ? COUNTS.stem
      : Math.max(compoundMatch(word, other), nearMatch(word, other), isKnown ? 0 : soundMatch(word, other))
  matches.set(other, match)
  return match
}

/** A word as a part of another: `hair` in `hairdressers`. */
function compoundMatch(word: string, other: string): number {
  const [a, b] = [stem(word), stem(other)]
  if (Math.min(a.length, b.length) < 4) return 0
  return b.startsWith(a) || a.startsWith(b) || b.endsWith(a) ? COUNTS.compound : 0
}

function nearMatch(word: string, other: string): number {
  if (isApart(word) || isApart(other)) return 0
  const near = nearness(word, other) ?? 0
  return near <= NEAR.from ? 0 : COUNTS.near * Math.min(1, (near - NEAR.from) / (NEAR.to - NEAR.from))
}

function soundMatch(word: string, other: string): number {
  if (word.length < 4 || other.length < 4 || Math.abs(word.length - other.length) > 2) return 0
  const distance = soundDistance(word, other)
  if (distance === null || distance > ALIKE || (distance > 0 && word[0] !== other[0])) return 0
  return COUNTS.sound * (1 - distance)
}

function kindScore({ wants }: Part, { kinds }: Fact): number {
  if (wants === null) return 0
  return isOfKind(kinds, wants) ? KIND_BONUS : -KIND_MALUS
}

/** `When is it ready?`: `in five days` tells as much as `on Monday`. */
export const isOfKind = (kinds: ReadonlySet<Kind>, wants: Kind): boolean =>
  kinds.has(wants) || (wants === 'time' && kinds.has('duration'))
