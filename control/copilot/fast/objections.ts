import { meaningOf } from '../../assistants/offline/word-vectors.ts'
import { remembered } from '../../kernel/remembered.ts'
import type { ProfileSettings } from '../schema.ts'
import { type Word, wordsOf } from '../words/fold.ts'
import { isLight } from '../words/likeness.ts'
import { anySaid } from '../words/phrases.ts'

const MAX_REMEMBERED = 5000
/** A sentence of fewer telling words is like many others. */
const MIN_TELLING = 2
const SENTENCE = /[^.!?;\n]+[.!?;\n]*/g

const meaning = remembered(MAX_REMEMBERED, (text: string): Float32Array | 'none' => {
  const words = wordsOf(text).map(word => word.text)
  return words.filter(word => !isLight(word)).length < MIN_TELLING ? 'none' : (meaningOf(words) ?? 'none')
})

/** How alike two sentences are in meaning, as the cosine of their directions; 0 where they are not known. */
export function similarity(a: string, b: string): number {
  const [one, other] = [meaning(a), meaning(b)]
  if (one === 'none' || other === 'none') return 0
  return one.reduce((sum, value, at) => sum + value * other[at]!, 0)
}

export interface HeardObjection {
  key: string
  /** 1: by a trigger, or in the words of an example. */
  similarity: number
}

/** The objections in what a customer said, by trigger, by the words of an example, or by its meaning; the nearest first. */
export function objectionsIn(
  { objections, model }: Pick<ProfileSettings, 'objections' | 'model'>,
  text: string,
  words: readonly Word[],
): HeardObjection[] {
  const sentences = text.match(SENTENCE) ?? []
  const found: HeardObjection[] = []
  for (const { key, triggers, examples } of objections) {
    const isSaid = anySaid(words, triggers) !== null || anySaid(words, examples) !== null
    const near = isSaid
      ? 1
      : Math.max(0, ...examples.flatMap(example => sentences.map(sentence => similarity(sentence.trim(), example))))
    if (near >= model.objection_similarity && near > 0) found.push({ key, similarity: Math.round(near * 1000) / 1000 })
  }
  // By meaning one sentence is one objection: the nearest.
  const sorted = found.sort((a, b) => b.similarity - a.similarity)
  return sorted.filter(({ similarity: near }, at) => near === 1 || at === 0)
}
