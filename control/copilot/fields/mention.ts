import type { ProfileSettings } from '../schema.ts'
import { type Word, wordsOf } from '../words/fold.ts'
import { isAbout, isLight } from '../words/likeness.ts'

export type Field = ProfileSettings['fields'][number]

/** Of the telling words of a hint, so many are a mention of it. */
const MIN_SHARE = 0.6

const telling = (text: string): string[] => [
  ...new Set(
    wordsOf(text.replaceAll(/[_.-]/g, ' '))
      .map(word => word.text)
      .filter(word => !isLight(word)),
  ),
]

/** Whether what was said speaks of this field: of its label, its key, or what its hint says. */
export function mentions(said: readonly Word[], { label, key, hint }: Field): boolean {
  const share = (text: string): number => {
    const wanted = telling(text)
    const found = wanted.filter(one => said.some(({ text: word }) => isAbout(word, one)))
    return wanted.length === 0 ? 0 : found.length / wanted.length
  }
  return share(label) === 1 || share(key) === 1 || (telling(hint).length > 1 && share(hint) >= MIN_SHARE)
}
