import { meaningOf, nearness } from '../../assistants/offline/word-vectors.ts'
import { remembered } from '../../kernel/remembered.ts'
import type { ProfileSettings } from '../schema.ts'
import { type Word, wordsOf } from '../words/fold.ts'
import { isLight, likeness } from '../words/likeness.ts'
import { anySaid, isNegation } from '../words/phrases.ts'

const MAX_REMEMBERED = 5000
/** A sentence of fewer telling words is like many others. */
const MIN_TELLING = 2
/**
 * Sentences of the same kind point in like directions, whatever they speak of. So each telling word of an example must be met by one that
 * is near it in meaning, by so much on the average, the more the more it has; in languages without word vectors, by a form of itself. All as
 * measured on calls.
 */
const MIN_MET = 0.7
const MIN_MET_OF_FEW = 0.5
const FEW = 2
const MIN_MET_BY_FORM = 0.75
const SENTENCE = /[^.!?;\n]+[.!?;\n]*/g

const meaning = remembered(MAX_REMEMBERED, (text: string): Float32Array | 'none' => {
  const words = wordsOf(text).map(word => word.text)
  return words.filter(word => !isLight(word)).length < MIN_TELLING ? 'none' : (meaningOf(words) ?? 'none')
})

const telling = remembered(MAX_REMEMBERED, (text: string): readonly string[] => [
  ...new Set(wordsOf(text).flatMap(word => (isLight(word.text) ? [] : [word.text]))),
])

/** How well the telling words of an example are met by those of a sentence, 0 to 1. */
function met(sentence: string, example: string, near: (said: string, wanted: string) => number): number {
  const wanted = telling(example)
  const best = wanted.map(word => Math.max(0, ...telling(sentence).map(said => near(said, word))))
  return best.reduce((sum, one) => sum + one, 0) / Math.max(1, wanted.length)
}

const byForm = (said: string, wanted: string): number => (likeness(said, wanted) > 0 ? 1 : 0)
const byMeaning = (said: string, wanted: string): number => byForm(said, wanted) || (nearness(said, wanted) ?? 0)
const isNegated = (text: string): boolean => wordsOf(text).some(word => isNegation(word.text))

/** How alike a sentence and an example are in meaning, as the cosine of their directions; 0 where they speak of something else. */
export function similarity(sentence: string, example: string): number {
  const [one, other] = [meaning(sentence), meaning(example)]
  if (one === 'none' || other === 'none') return likeByForm(sentence, example)
  const least = telling(example).length <= FEW ? MIN_MET_OF_FEW : MIN_MET
  if (met(sentence, example, byMeaning) < least) return 0
  return one.reduce((sum, value, at) => sum + value * other[at]!, 0)
}

/** In whatever order. */
function likeByForm(sentence: string, example: string): number {
  if (telling(example).length < MIN_TELLING || isNegated(sentence) !== isNegated(example)) return 0
  const share = met(sentence, example, byForm)
  return share >= MIN_MET_BY_FORM ? share : 0
}

export interface HeardObjection {
  key: string
  /** 1: by a trigger, or in the words of an example. */
  similarity: number
}

/** What sentences are nearest to by the vectors of a provider, by sentence; one that is not there is judged by those of ours. */
export type Meant = Readonly<Record<string, HeardObjection>>

export const sentencesOf = (text: string): string[] =>
  (text.match(SENTENCE) ?? []).map(sentence => sentence.trim()).filter(sentence => sentence !== '')

/** The objection that one of whose examples is nearest. */
export function nearestOf(
  objections: ProfileSettings['objections'],
  like: (example: string) => number,
): HeardObjection {
  const near = objections.map(({ key, examples }) => ({ key, similarity: Math.max(0, ...examples.map(like)) }))
  return near.reduce((a, b) => (b.similarity > a.similarity ? b : a), { key: '', similarity: 0 })
}

/**
 * The objections in what a customer said, by trigger, by the words of an example, or by its meaning, in which a sentence is one objection: the
 * nearest. The nearest first.
 */
export function objectionsIn(
  { objections, model }: Pick<ProfileSettings, 'objections' | 'model'>,
  text: string,
  words: readonly Word[],
  meant: Meant = {},
): HeardObjection[] {
  const found = new Map<string, number>()
  for (const { key, triggers, examples } of objections) {
    if (anySaid(words, triggers) !== null || anySaid(words, examples) !== null) found.set(key, 1)
  }
  for (const sentence of sentencesOf(text)) {
    const nearest = meant[sentence] ?? nearestOf(objections, example => similarity(sentence, example))
    if (nearest.similarity === 0 || nearest.similarity < model.objection_similarity) continue
    found.set(nearest.key, Math.max(found.get(nearest.key) ?? 0, Math.round(nearest.similarity * 1000) / 1000))
  }
  return [...found].map(([key, similarity]) => ({ key, similarity })).sort((a, b) => b.similarity - a.similarity)
}
