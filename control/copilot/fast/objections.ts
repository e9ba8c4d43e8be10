import type { ProfileSettings } from '../schema.ts'
import type { Word } from '../words/fold.ts'
import { findPhrase, phraseOf } from '../words/phrases.ts'
import { similarity } from '../words/similarity.ts'

const SENTENCE = /[^.!?;\n]+[.!?;\n]*/g

export interface HeardObjection {
  key: string
  /** Similarity, 0 to 1; 1: by a trigger, or in the words of an example. */
  similarity: number
}

/** The nearest objection by a provider's vectors, by sentence. Sentences that are missing are judged by our own vectors. */
export type Meant = Readonly<Record<string, HeardObjection>>

export const sentencesOf = (text: string): string[] =>
  (text.match(SENTENCE) ?? []).map(sentence => sentence.trim()).filter(sentence => sentence !== '')

/** The objection with the most similar example. `like`: similarity of an example; it may return 0 for anything not above `least`. */
export function nearestOf(
  objections: ProfileSettings['objections'],
  like: (example: string, least: number) => number,
): HeardObjection {
  const nearest = { key: '', similarity: 0 }
  for (const { key, examples } of objections) {
    for (const example of examples) {
      const similarity = like(example, nearest.similarity)
      if (similarity > nearest.similarity) Object.assign(nearest, { key, similarity })
    }
  }
  return nearest
}

function isObjected(words: readonly Word[], phrase: string): boolean {
  const match = findPhrase(words, phraseOf(phrase))
  return match !== null && !isAskedOfUs(words, match.from)
}

/** Whether the words ask for somebody else's opinion: "What do you think about it?" */
function isAskedOfUs(words: readonly Word[], at: number): boolean {
  const [question = '', verb = '', who = ''] = words.slice(Math.max(0, at - 3), at).map(({ text }) => text)
  return /^(what|how)$/.test(question) && /^(do|does|did|would)$/.test(verb) && /^(you|he|she|they)$/.test(who)
}

/**
 * The objections in what a customer said: by a trigger, by the words of an example, or by meaning, where a sentence is at most one
 * objection. The most similar come first.
 */
export function objectionsIn(
  { objections, model }: Pick<ProfileSettings, 'objections' | 'model'>,
  text: string,
  words: readonly Word[],
  meant: Meant = {},
): HeardObjection[] {
  const found = new Map<string, number>()
  for (const { key, triggers, examples } of objections) {
    if ([...triggers, ...examples].some(phrase => isObjected(words, phrase))) found.set(key, 1)
  }
  for (const sentence of sentencesOf(text)) {
    const nearest = meant[sentence] ?? nearestOf(objections, (example, least) => similarity(sentence, example, least))
    if (nearest.similarity === 0 || nearest.similarity < model.objection_similarity) continue
    found.set(nearest.key, Math.max(found.get(nearest.key) ?? 0, Math.round(nearest.similarity * 1000) / 1000))
  }
  return [...found].map(([key, similarity]) => ({ key, similarity })).sort((a, b) => b.similarity - a.similarity)
}
