import { distance } from 'fastest-levenshtein'
import { areSame, isStopWord, stem } from '../../assistants/offline/english.ts'
import { soundDistance } from '../../flows/sounds.ts'
import { remembered } from '../../kernel/remembered.ts'
import { isHebrew } from './fold.ts'
import { isLightInHebrew, isSameInHebrew } from './hebrew.ts'

const MAX_REMEMBERED = 50_000
/** Weight of a match by an inflected form, and by a misheard word. */
const INFLECTED = 0.97
const MISHEARD = 0.8
/** Minimum length of a word that may be misheard, with one letter different, and from which length two may differ. */
const MIN_LETTERS = 5
const TWO_DIFFER = 9
const ALIKE_IN_SOUND = 0.15

const likenessOf = remembered(MAX_REMEMBERED, (pair: string): number => {
  const [said = '', wanted = ''] = pair.split(' ')
  if (/\d/.test(wanted)) return 0
  if (isHebrew(wanted)) return isSameInHebrew(said, wanted) ? INFLECTED : misheard(said, wanted)
  if (stem(said) === stem(wanted)) return INFLECTED
  return misheard(said, wanted)
})

function misheard(said: string, wanted: string): number {
  if (said.length < MIN_LETTERS || wanted.length < MIN_LETTERS || said[0] !== wanted[0]) return 0
  const most = wanted.length >= TWO_DIFFER ? 2 : 1
  if (Math.abs(said.length - wanted.length) <= most && distance(said, wanted) <= most) return MISHEARD
  const apart = soundDistance(said, wanted)
  return apart !== null && apart <= ALIKE_IN_SOUND ? MISHEARD : 0
}

/** Similarity of a spoken word to a wanted one, both folded: 1 the same, 0 another. */
export const likeness = (said: string, wanted: string): number =>
  said === wanted ? 1 : likenessOf(`${said} ${wanted}`)

/** Whether a word is a stop word. */
export const isLight = (word: string): boolean => isStopWord(word) || isLightInHebrew(word)

/** Whether words are alike or mean the same, for the topic of a question. */
export const isAbout = (said: string, wanted: string): boolean => likeness(said, wanted) > 0 || areSame(said, wanted)
