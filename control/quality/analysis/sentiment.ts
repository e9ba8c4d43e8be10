import { wordsOf } from '../../copilot/words/fold.ts'
import { sentimentOf } from '../../copilot/words/sentiment.ts'
import type { Line } from './conversation.ts'

interface CustomerSentiment {
  /** For the whole call, and for its first and last third; null: no word of the list was said. */
  whole: number | null
  start: number | null
  end: number | null
}

/** Languages with a word list; for others there is no figure. */
const KNOWN = /^(en|he)\b/

/** The customer's sentiment by the copilot's word list. Each line with such a word has the same weight. */
export function customerSentiment(lines: readonly Line[], language: string | null): CustomerSentiment {
  if (language === null || !KNOWN.test(language)) return { whole: null, start: null, end: null }
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
  const all = lines.map(({ text }) => sentimentOf(wordsOf(text))).filter(value => value !== null)
  return all.length === 0 ? null : rounded(all.reduce((sum, value) => sum + value, 0) / all.length)
}

export const rounded = (value: number): number => Math.round(value * 1000) / 1000
