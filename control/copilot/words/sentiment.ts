import type { Word } from './fold.ts'
import { likeness } from './likeness.ts'
import { isNegation } from './negations.ts'

/** Words that express sentiment. Only few and clear ones, since a copilot that misjudges customers is soon ignored. */
const GOOD =
  'great good excellent perfect thanks thank happy wonderful lovely amazing love pleased helpful awesome glad appreciate fantastic brilliant nice satisfied תודה מצוינ מעולה נהדר שמח שמחה מרוצה אוהב אוהבת יופי מקסימ'.split(
    ' ',
  )
const BAD =
  'terrible awful horrible angry upset frustrated frustrating ridiculous unacceptable worst hate disappointed disappointing useless annoyed annoying complaint complain disgusting furious broken rubbish nonsense scam lawyer wrong bad fed unhappy problem waste stupid נורא גרוע כועס כועסת מתוסכל מאוכזב מאוכזבת בושה חרפה שערורייה תלונה מתלוננ זוועה נמאס חוצפה בעיה'.split(
    ' ',
  )
const STRONG = new Set('very really so extremely absolutely totally completely ממש מאוד לגמרי'.split(' '))
/** How many words before a word a negation may be. */
const REACH = 3

/** Sentiment of an utterance, -1 to 1; null: it has none. */
export function sentimentOf(words: readonly Word[]): number | null {
  let [sum, count] = [0, 0]
  for (const [at, { text }] of words.entries()) {
    const tone = toneOf(text)
    if (tone === 0) continue
    const before = words.slice(Math.max(0, at - REACH), at)
    const isTurned = before.some(word => isNegation(word.text))
    const isStrong = before.some(word => STRONG.has(word.text))
    sum += tone * (isTurned ? -0.7 : 1) * (isStrong ? 1.5 : 1)
    count++
  }
  return count === 0 ? null : Math.max(-1, Math.min(1, sum / Math.max(1, Math.sqrt(count))))
}

function toneOf(word: string): number {
  if (word.length < 3) return 0
  if (BAD.some(one => likeness(word, one) > 0.9)) return -1
  return GOOD.some(one => likeness(word, one) > 0.9) ? 1 : 0
}
