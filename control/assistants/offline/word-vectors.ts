import { readFileSync } from 'node:fs'
import { PACKAGE_ROOT } from '../../kernel/package.ts'

const FOLDER = new URL('fixtures/words/', PACKAGE_ROOT)

/** The meaning of common English words, as directions in a vector space (`fixtures/words`). */
interface WordVectors {
  /** The row of each word, which is also its rank by frequency. */
  rows: Map<string, number>
  words: string[]
  dimensions: number
  /** One row of `dimensions` for each word. */
  values: Int8Array
  lengths: Float32Array
}

let loaded: WordVectors | null = null

/** Loaded with the first question, since most processes never need them. */
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

/** Cosine similarity of two words, at most 1. Null: one of them is not known. */
export function nearness(a: string, b: string): number | null {
  const { rows, values, dimensions, lengths } = vectors()
  const [rowA, rowB] = [rows.get(a), rows.get(b)]
  if (rowA === undefined || rowB === undefined) return null
  return product(values, dimensions, rowA, rowB) / (lengths[rowA]! * lengths[rowB]!)
}

/** The rank of a word by frequency, 0: the most frequent; null: it is rare, a name, or no word. */
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
