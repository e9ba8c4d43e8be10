import { readFileSync } from 'node:fs'
import { PACKAGE_ROOT } from '../../kernel/package.ts'

const FOLDER = new URL('fixtures/words/', PACKAGE_ROOT)

/** The meaning of common English words, as directions in a vector space (`fixtures/words`). */
interface WordVectors {
  /** The row of a word, which is its rank by how often it is written as well. */
  rows: Map<string, number>
  words: string[]
  dimensions: number
  /** One row of `dimensions` for each word. */
  values: Int8Array
  lengths: Float32Array
}

let loaded: WordVectors | null = null

/** Read when the first question comes: most processes never need them. */
function vectors(): WordVectors {
  loaded ??= load()
  return loaded
}

function load(): WordVectors {
  const words = readFileSync(new URL('words.txt', FOLDER), 'utf8').trimEnd().split('\n')
  const bytes = readFileSync(new URL('vectors.bin', FOLDER))
  const values = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length)
  const dimensions = bytes.length / words.length
  const lengths = new Float32Array(words.length)
  for (let row = 0; row < words.length; row++) lengths[row] = Math.sqrt(product(values, dimensions, row, row))
  return { rows: new Map(words.map((word, row) => [word, row])), words, dimensions, values, lengths }
}

function product(values: Int8Array, dimensions: number, a: number, b: number): number {
  let sum = 0
  for (let i = 0; i < dimensions; i++) sum += values[a * dimensions + i]! * values[b * dimensions + i]!
  return sum
}

/** How near the meanings of two words are, at most 1: the same. Null: one of them is not known. */
export function nearness(a: string, b: string): number | null {
  const { rows, values, dimensions, lengths } = vectors()
  const [rowA, rowB] = [rows.get(a), rows.get(b)]
  if (rowA === undefined || rowB === undefined) return null
  return product(values, dimensions, rowA, rowB) / (lengths[rowA]! * lengths[rowB]!)
}

/** The place of a word among all by how often it is written, 0: the most frequent; null: it is rare, a name, or none. */
export const rankOf = (word: string): number | null => vectors().rows.get(word) ?? null

/** The words nearest in meaning, nearest first. */
export function neighbours(word: string, count: number, least: number): string[] {
  const { rows, words, values, dimensions, lengths } = vectors()
  const row = rows.get(word)
  if (row === undefined) return []
  const found: { word: string; near: number }[] = []
  for (let other = 0; other < words.length; other++) {
    if (other === row) continue
    const near = product(values, dimensions, row, other) / (lengths[row]! * lengths[other]!)
    if (near >= least) found.push({ word: words[other]!, near })
  }
  return found
    .sort((a, b) => b.near - a.near)
    .slice(0, count)
    .map(({ word }) => word)
}

/** A frequent word says less of what a sentence means (after Arora et al., "A Simple but Tough-to-Beat Baseline"). */
const FREQUENT = 40

/** The meaning of a sentence, as a vector of length 1; null: none of its words is known. */
export function meaningOf(sentence: readonly string[]): Float32Array | null {
  const { rows, values, dimensions, lengths } = vectors()
  const sum = new Float32Array(dimensions)
  for (const word of sentence) {
    const row = rows.get(word)
    if (row === undefined) continue
    const weight = row / (row + FREQUENT) / lengths[row]!
    for (let i = 0; i < dimensions; i++) sum[i]! += weight * values[row * dimensions + i]!
  }
  const length = Math.hypot(...sum)
  return length === 0 ? null : sum.map(value => value / length)
}
