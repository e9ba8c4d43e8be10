import type { ProfileSettings } from '../schema.ts'
import { type Word, wordsOf } from '../words/fold.ts'
import { isAbout, isLight } from '../words/likeness.ts'
import { findPhrase, phraseOf } from '../words/phrases.ts'

export type Field = ProfileSettings['fields'][number]

/** Minimum share of a hint's words that mentions the field. */
const MIN_SHARE = 0.6

const telling = (text: string): string[] => [
  ...new Set(
    wordsOf(text.replaceAll(/[_.-]/g, ' '))
      .map(word => word.text)
      .filter(word => !isLight(word)),
  ),
]

/** Words of a label that "how many …" need not repeat. */
const AMOUNTS = new Set(['number', 'amount', 'count', 'מספר', 'כמות'])

/** Whether the words mention this field, by its label, its key or its hint. */
export function mentions(said: readonly Word[], { label, key, hint, type }: Field): boolean {
  const share = (text: string): number => {
    const all = telling(text)
    const counted = type === 'number' ? all.filter(word => !AMOUNTS.has(word)) : all
    const wanted = counted.length > 0 ? counted : all
    const found = wanted.filter(one => said.some(({ text: word }) => isAbout(word, one)))
    return wanted.length === 0 ? 0 : found.length / wanted.length
  }
  if (share(label) === 1 || share(key) === 1) return true
  return telling(hint).length > 1 ? share(hint) >= MIN_SHARE : findPhrase(said, phraseOf(hint)) !== null
}

/** How one asks for a detail of each type without naming it. */
const QUESTIONS: Readonly<Partial<Record<Field['type'], RegExp>>> = {
  date: /\b(?:which|what) (?:day|date)\b|\bwhen (?:would|could|can|should|do|does|is|are|did|was)\b|מתי|באיזה (?:יומ|תאריכ)/,
  time: /\bwhat time\b|\bat what (?:hour|time)\b|באיזו? שעה/,
  phone:
    /\b(?:what|which|best|good) (?:phone )?number\b|\bnumber (?:can|could|do|should|to) (?:we|i)?\s?(?:reach|call|ring)\b|\breach you (?:at|on|under)\b|מה המספר|באיזה מספר/,
  email: /\bwhere (?:can|could|should|do|shall) (?:we|i) (?:write|mail|send)\b/,
  name: /\bwho (?:am i|do i have|is (?:this|calling|speaking|there))\b|\byour (?:full |last |first )?name\b|\bwho i am (?:speaking|talking)\b|עמ מי אני|איכ קוראימ|מה (?:שמכ|השמ)/,
  address: /\bwhere (?:do you live|are you|is (?:your|the) (?:house|home|office))\b|איפה את(?:ה)? גר|מה הכתובת/,
  money:
    /\bhow much (?:would|can|could|do|are|did) you\b|\bwhat (?:can|could|would) you (?:spend|afford|pay)\b|כמה (?:תרצה|אתה|את) /,
}

/** Whether the words ask for a detail of this type without naming it. */
export const asksByType = (said: readonly Word[], { type }: Pick<Field, 'type'>): boolean =>
  QUESTIONS[type]?.test(said.map(({ text }) => text).join(' ')) ?? false
