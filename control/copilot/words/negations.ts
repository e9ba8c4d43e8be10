import type { Word } from './fold.ts'

const NEGATIONS = new Set(
  'not no never dont doesnt didnt cant cannot couldnt wont wouldnt isnt arent wasnt shouldnt without nor לא אינ אינני אינו אינה בלי'.split(
    ' ',
  ),
)
/** Maximum distance between `why` and a `not` that makes a suggestion: "why don't you …". */
const WHY_REACH = 2

export const isNegation = (word: string): boolean => NEGATIONS.has(word)

/** Whether the word at this place negates what is around it: "why not …" does not. */
export function negates(words: readonly Word[], at: number): boolean {
  if (!isNegation(words[at]!.text)) return false
  return !words.slice(Math.max(0, at - WHY_REACH), at).some(({ text }) => text === 'why' || text === 'למה')
}
