import type { Conversation, Line } from './conversation.ts'
import { customerSentiment, rounded } from './sentiment.ts'
import { plainWords } from './words.ts'

/** Figures of a call; null: they cannot be determined. */
export interface Figures {
  agent_ms: number
  customer_ms: number
  product_ms: number
  /** The agent's share of what agent and customer said. */
  talk_ratio: number | null
  /** The longest time between the first word and the last in which nobody spoke. */
  silence_seconds: number
  /** The longest time that an agent spoke without a word of anybody else. */
  monologue_seconds: number
  words_per_minute: number | null
  /** How often an agent began while the customer was speaking, and went on. */
  interruptions: number
  sentiment: number | null
  sentiment_start: number | null
  sentiment_end: number | null
}

/** With less speech than this, no speed is reported [ms]. */
const MIN_SPEECH_MS = 5000
/** Starting less than this before the other ends is no interruption [ms]. */
const OVERLAP_MS = 500

export function figuresOf({ lines, language }: Pick<Conversation, 'lines' | 'language'>): Figures {
  const spoken = (side: Line['side']): number =>
    lines.reduce((sum, line) => sum + (line.side === side ? Math.max(0, line.endMs - line.startMs) : 0), 0)
  const [agentMs, customerMs] = [spoken('agent'), spoken('customer')]
  const words = lines.flatMap(line => (line.side === 'agent' ? plainWords(line.text) : [])).length
  const sentiment = customerSentiment(lines, language)
  return {
    agent_ms: agentMs,
    customer_ms: customerMs,
    product_ms: spoken('product'),
    talk_ratio: agentMs + customerMs === 0 ? null : rounded(agentMs / (agentMs + customerMs)),
    silence_seconds: seconds(longestSilence(lines)),
    monologue_seconds: seconds(longestMonologue(lines)),
    words_per_minute: agentMs < MIN_SPEECH_MS ? null : Math.round(words / (agentMs / 60_000)),
    interruptions: interruptionsIn(lines),
    sentiment: sentiment.whole,
    sentiment_start: sentiment.start,
    sentiment_end: sentiment.end,
  }
}

const seconds = (ms: number): number => Math.round(ms / 100) / 10

function longestSilence(lines: readonly Line[]): number {
  let [longest, end] = [0, lines[0]?.endMs ?? 0]
  for (const line of lines) {
    longest = Math.max(longest, line.startMs - end)
    end = Math.max(end, line.endMs)
  }
  return longest
}

function longestMonologue(lines: readonly Line[]): number {
  let longest = 0
  let start: number | null = null
  for (const line of lines) {
    if (line.side !== 'agent') start = null
    else {
      start ??= line.startMs
      longest = Math.max(longest, line.endMs - start)
    }
  }
  return longest
}

function interruptionsIn(lines: readonly Line[]): number {
  let [count, customerEnds] = [0, -Infinity]
  for (const line of lines) {
    if (line.side === 'customer') customerEnds = Math.max(customerEnds, line.endMs)
    else if (line.side === 'agent' && customerEnds - line.startMs >= OVERLAP_MS && line.endMs > customerEnds) count++
  }
  return count
}
