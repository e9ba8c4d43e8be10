import { remembered } from '../../kernel/remembered.ts'

/** A word as it is compared, without accents and case, with its place in the text. */
export interface Word {
  text: string
  /** As it was written. */
  raw: string
  from: number
  to: number
  /** A punctuation mark precedes it, so that earlier words do not refer to it. */
  opens: boolean
}

const MAX_REMEMBERED = 5000
/** Final forms of Hebrew letters, which are treated as the same letters. */
const FINALS: Readonly<Record<string, string>> = { ך: 'כ', ם: 'מ', ן: 'נ', ף: 'פ', ץ: 'צ' }
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

/** Contractions of two words: `I'd` is `I would`. */
const SHORT = /^(i|you|he|she|it|we|they|that|this|there|here|what|who|where|when|how|let)['’](m|re|s|ll|d|ve)$/i
const LONG: Readonly<Record<string, string>> = { m: 'am', re: 'are', s: 'is', ll: 'will', d: 'would', ve: 'have' }
const VARIANTS: Readonly<Record<string, string>> = {
  __proto__: null as never,
  whom: 'who',
  gonna: 'going',
  wanna: 'want',
  gotta: 'got',
}
/** Negated verbs in one word: `don't`, `dont` as speech recognition may write it, and `cannot`. */
const NOT = /^(do|does|did|is|are|was|were|has|have|had|could|would|should|must|need|ca|wo)n['’]?t$|^(can)not$/i
const BEFORE_NOT: Readonly<Record<string, string>> = { ca: 'can', wo: 'will' }
const MARK = /[.,;:!?…\n]/

/** A text without accents, vowel points, apostrophes and case. */
const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\p{M}'’׳״"]/gu, '')
    .toLowerCase()
    .replace(/[ךםןףץ]/g, letter => FINALS[letter] ?? letter)

/** The words of a text, split by the rules of its language; `I'd` is `i` and `would`, `can't` is `can` and `not`. */
export const wordsOf = remembered(MAX_REMEMBERED, (text: string): readonly Word[] => {
  const words: Word[] = []
  let opens = false
  const add = (word: string, raw: string, from: number): void => {
    if (word !== '') words.push({ text: word, raw, from, to: from + raw.length, opens })
    opens = false
  }
  for (const { segment, index, isWordLike } of segmenter.segment(text)) {
    const two = isWordLike ? twoIn(segment) : null
    if (!isWordLike) opens ||= words.length > 0 && MARK.test(segment)
    else if (two === null) add(VARIANTS[segment.toLowerCase()] ?? folded(segment), segment, index)
    else {
      const { first, second, length } = two
      add(first, segment.slice(0, length), index)
      add(second, segment.slice(length), index + length)
    }
  }
  return words
})

/** The two words of a contraction, folded; null: it is none. `length`: of the first one as it is written. */
function twoIn(segment: string): { first: string; second: string; length: number } | null {
  const short = SHORT.exec(segment)
  if (short !== null) {
    const [, first = '', second = ''] = short
    return { first: folded(first), second: LONG[second.toLowerCase()]!, length: first.length }
  }
  const not = NOT.exec(segment)
  if (not === null) return null
  const first = (not[1] ?? not[2] ?? '').toLowerCase()
  return { first: BEFORE_NOT[first] ?? first, second: 'not', length: first.length }
}

export const isHebrew = (text: string): boolean => /\p{Script=Hebrew}/u.test(text)
