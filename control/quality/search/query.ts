import { wordsOf } from '../../knowledge/words.ts'
import { plainWords, stemOf } from '../analysis/words.ts'

/** Maximum number of parts in a query. */
const MAX_PARTS = 16

/** The parts of a query such as `refund "second invoice"`: a word, and two in sequence. Parts without a word are ignored. */
export function partsOf(query: string): string[] {
  const parts = [...query.matchAll(/"([^"]*)"|([^\s"]+)/g)].map(([, quoted, word]) => quoted ?? word ?? '')
  return parts.filter(part => wordsOf(part).length > 0).slice(0, MAX_PARTS)
}

interface Highlight {
  /** Offsets in the text [characters]. */
  start: number
  end: number
}

const WORD = /[\p{L}\p{N}\p{M}]+/gu

/** Positions of the query's words in a text, in any form. */
export function highlightsIn(text: string, parts: readonly string[]): Highlight[] {
  const wanted = new Set(parts.flatMap(part => plainWords(part).map(stemOf)))
  return [...text.matchAll(WORD)].flatMap(match => {
    const stems = plainWords(match[0]).map(stemOf)
    if (!stems.some(stem => wanted.has(stem))) return []
    return [{ start: match.index, end: match.index + match[0].length }]
  })
}
