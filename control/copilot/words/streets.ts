import type { Word } from './fold.ts'
import { isLight } from './likeness.ts'
import type { SaidNumber } from './numbers.ts'

const STREET = /^(street|st|road|rd|avenue|ave|lane|drive|boulevard|blvd|way|square|court|place|terrace|close)$/
const STREET_HE = /^[בל]?(רחוב|שדרות|דרכ|סמטת|כיכר)$/
const MAX_STREET_WORDS = 4

/** Range of words of a street with this house number, both inclusive; null: it is no house number. */
export function streetOf(words: readonly Word[], number: Pick<SaidNumber, 'from' | 'to'>): [number, number] | null {
  for (let at = number.to + 1; at < words.length && at <= number.to + MAX_STREET_WORDS; at++) {
    // Not "at five on my way".
    if (isLight(words[at - 1]!.text)) break
    if (STREET.test(words[at]!.text)) return [number.from, at]
  }
  const street = words.findIndex(({ text: word }) => STREET_HE.test(word))
  const isBefore = street >= 0 && street < number.from && number.from - street <= MAX_STREET_WORDS
  return isBefore ? [street, number.to - 1] : null
}
