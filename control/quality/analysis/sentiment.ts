import Sentiment from 'sentiment'
import type { Line } from './conversation.ts'

/**
 * How a text sounds, from -1 to 1, by the words of AFINN (English, each word from -5 to 5, negation turned round); null: none of them is in
 * it. Other languages have no list here.
 */
export function sentimentOf(text: string): number | null {
  const { score, words } = lexicon.analyze(text)
  if (words.length === 0) return null
  return Math.max(-1, Math.min(1, score / (words.length * STRONG)))
}

const lexicon = new Sentiment()
/** A word of this strength alone is all the way at the end. */
const STRONG = 3

export interface CustomerSentiment {
  /** Of the whole call, and of its first and last third. */
  whole: number | null
  start: number | null
  end: number | null
}

/** Of what the customer says, each line with a word of the list counting the same. */
export function customerSentiment(lines: readonly Line[], isEnglish: boolean): CustomerSentiment {
  if (!isEnglish) return { whole: null, start: null, end: null }
  const own = lines.filter(({ side }) => side === 'customer')
  const [from, to] = [own[0]?.startMs ?? 0, own.at(-1)?.endMs ?? 0]
  const third = (to - from) / 3
  return {
    whole: meanOf(own),
    start: meanOf(own.filter(({ startMs }) => startMs <= from + third)),
    end: meanOf(own.filter(({ endMs }) => endMs >= to - third)),
  }
}

function meanOf(lines: readonly Line[]): number | null {
  const all = lines.map(({ text }) => sentimentOf(text)).filter(value => value !== null)
  return all.length === 0 ? null : round(all.reduce((sum, value) => sum + value, 0) / all.length)
}

const round = (value: number): number => Math.round(value * 1000) / 1000
