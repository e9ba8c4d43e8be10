import { remembered } from '../../kernel/remembered.ts'

/** A word as it is compared: without marks and case, by its place in the text. */
export interface Word {
  text: string
  /** As it was written. */
  raw: string
  from: number
  to: number
}

const MAX_REMEMBERED = 5000
/** The final letters of Hebrew are the same letters. */
const FINALS: Readonly<Record<string, string>> = { ך: 'כ', ם: 'מ', ן: 'נ', ף: 'פ', ץ: 'צ' }
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

/** Accents, points and case away; a contraction is one word: `don't` is `dont`. */
export const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\p{M}'’׳״"]/gu, '')
    .toLowerCase()
    .replace(/[ךםןףץ]/g, letter => FINALS[letter] ?? letter)

/** The words of a text, cut where its language cuts them. */
export const wordsOf = remembered(MAX_REMEMBERED, (text: string): readonly Word[] => {
  const words: Word[] = []
  for (const { segment, index, isWordLike } of segmenter.segment(text)) {
    const word = folded(segment)
    if (isWordLike && word !== '') words.push({ text: word, raw: segment, from: index, to: index + segment.length })
  }
  return words
})

export const isHebrew = (text: string): boolean => /\p{Script=Hebrew}/u.test(text)
