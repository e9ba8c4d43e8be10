/** Different spellings of the same word. */
const SPELLINGS: readonly [RegExp, string][] = [
  [/[’']/g, ''],
  [/good[- ]bye?/g, 'goodbye'],
  ...['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'].map(
    (word, i): [RegExp, string] => [new RegExp(`\\b${i + 1}\\b`, 'g'), word],
  ),
]

/** The words of a text in lower case, without punctuation. */
export const wordsOf = (text: string): string[] =>
  SPELLINGS.reduce((spelt, [as, word]) => spelt.replace(as, word), text.toLowerCase())
    .split(/[^\p{L}\p{N}]+/u)
    .filter(word => word !== '')

/** The difference between what was said and what was heard [words]. */
export interface Difference {
  said: number
  /** Substitutions, deletions and insertions. */
  errors: number
  /** Said words before the first and after the last word that was heard right. */
  missingAtBegin: number
  missingAtEnd: number
  /** The outermost of these in whose place nothing was heard, not even another word. */
  goneAtBegin: number
  goneAtEnd: number
}

/** Compares both by an alignment with the minimum number of changes (Levenshtein). */
export function compare(said: readonly string[], heard: readonly string[]): Difference {
  const costs = Array.from({ length: said.length + 1 }, (_, i) =>
    Array.from({ length: heard.length + 1 }, (_, j) => (i === 0 ? j : i)),
  )
  for (let i = 1; i <= said.length; i++) {
    for (let j = 1; j <= heard.length; j++) {
      const change = said[i - 1] === heard[j - 1] ? 0 : 1
      costs[i]![j] = Math.min(costs[i - 1]![j - 1]! + change, costs[i - 1]![j]! + 1, costs[i]![j - 1]! + 1)
    }
  }
  const right: number[] = []
  /** Indexes of said words in whose place some word was heard, from the last to the first. */
  const heardAtAll: number[] = []
  for (let i = said.length, j = heard.length; i > 0 && j > 0; ) {
    const isSame = said[i - 1] === heard[j - 1]
    if (costs[i]![j] === costs[i - 1]![j - 1]! + (isSame ? 0 : 1)) {
      if (isSame) right.push(i - 1)
      heardAtAll.push(i - 1)
      i--
      j--
    } else if (costs[i]![j] === costs[i - 1]![j]! + 1) i--
    else j--
  }
  return {
    said: said.length,
    errors: costs[said.length]![heard.length]!,
    missingAtBegin: right.length === 0 ? said.length : right.at(-1)!,
    missingAtEnd: right.length === 0 ? 0 : said.length - 1 - right[0]!,
    goneAtBegin: heardAtAll.at(-1) ?? said.length,
    goneAtEnd: heardAtAll.length === 0 ? 0 : said.length - 1 - heardAtAll[0]!,
  }
}
