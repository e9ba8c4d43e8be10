import type { Line } from './conversation.ts'
import { isContent, plainWords, singular } from './words.ts'

const MAX_TOPICS = 6

/** The customer's topics: significant words, alone or in pairs, most frequent first. A pair that occurs at least twice stands for both words. */
export function topicsIn(lines: readonly Line[]): string[] {
  const counts = new Map<string, number>()
  for (const { side, text } of lines) {
    if (side === 'customer') for (const topic of topicsOf(text)) counts.set(topic, (counts.get(topic) ?? 0) + 1)
  }
  const pairs = [...counts].filter(([topic, count]) => topic.includes(' ') && count > 1).map(([topic]) => topic)
  const inPair = new Set(pairs.flatMap(pair => pair.split(' ')))
  return [...counts]
    .filter(([topic]) => (topic.includes(' ') ? pairs.includes(topic) : !inPair.has(topic)))
    .sort(([a, m], [b, n]) => n - m || b.length - a.length || (a < b ? -1 : 1))
    .slice(0, MAX_TOPICS)
    .map(([topic]) => topic)
}

/** The words of one sentence, and each pair of neighbours. */
export function topicsOf(text: string): string[] {
  const words = plainWords(text)
  return words.flatMap((word, i) => {
    const next = words[i + 1]
    if (!isContent(word)) return []
    const own = singular(word)
    return next !== undefined && isContent(next) ? [own, `${own} ${singular(next)}`] : [own]
  })
}
