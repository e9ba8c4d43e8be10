import { remembered } from '../kernel/remembered.ts'
import { plainWords } from './engine/conditions.ts'

/** Maximum number of words in a text that may be misheard as others that sound alike. */
const MAX_WORDS = 3
/** Maximum share of sounds that may differ, relative to the longer text. */
const MAX_DIFFERENCE = 1 / 3
/** A word with fewer sounds must be the same: one sound more turns `no` into `nine`. */
const MIN_SOUNDS = 4
/** Variants of short answers. */
const ALSO: Readonly<Record<string, string>> = {
  __proto__: null as never,
  yeah: 'yes',
  yep: 'yes',
  yup: 'yes',
  nope: 'no',
  nah: 'no',
}

/** Cache size. */
const MAX_REMEMBERED = 10_000

const DIGITS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']

/** Spellings that sound alike on the phone, in this order. `S`: as in she, judge, change. */
const SPELLINGS: readonly (readonly [RegExp, string])[] = [
  [/ph/g, 'f'],
  [/gh/g, ''],
  [/^kn/, 'n'],
  [/^wr/, 'r'],
  [/tion|sh|tch|ch|dge|j/g, 'S'],
  [/c(?=[eiy])/g, 's'],
  [/th|d/g, 't'],
  [/x/g, 'ks'],
  [/ck|qu|[cqg]/g, 'k'],
  [/b/g, 'p'],
  [/v/g, 'f'],
  [/z/g, 's'],
  [/m/g, 'n'],
  [/(?<!^)[hwy]/g, 'a'],
  [/e$/, ''],
  [/[aeiou]+/g, 'a'],
  [/(.)\1+/g, '$1'],
]

/** Roughly how a text sounds: consonants by kind, all vowels as one. Empty: it is not in Latin letters, or too long. */
const soundOf = remembered(MAX_REMEMBERED, (text: string): string => {
  const words = plainWords(text).normalize('NFD').replace(/\p{M}/gu, '').split(' ')
  if (words.length > MAX_WORDS) return ''
  const spelled = words.map(word => ALSO[word] ?? DIGITS[/^\d$/.test(word) ? Number(word) : -1] ?? word)
  if (!spelled.every(word => /^[a-z]+$/.test(word))) return ''
  return spelled.map(word => SPELLINGS.reduce((sound, [letters, as]) => sound.replace(letters, as), word)).join('')
})

/** Distance of the spoken words from a phrase by sound, 0: the same; null: another phrase. */
export function soundDistance(said: string, phrase: string): number | null {
  const [a, b] = [soundOf(said), soundOf(phrase)]
  if (a === '' || b === '') return null
  if (Math.min(a.length, b.length) < MIN_SOUNDS) return a === b ? 0 : null
  const longer = Math.max(a.length, b.length)
  // Checked first, to avoid the costly comparison of a long word with many phrases.
  if (Math.abs(a.length - b.length) > longer * MAX_DIFFERENCE) return null
  const share = edits(a, b) / longer
  return share <= MAX_DIFFERENCE ? share : null
}

/** Levenshtein's distance. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}
