import { invalid, type Problem } from './errors.ts'

const MAX_PAIRS = 50

/** Stored metadata (JSON) merged with that of a PATCH, of which null removes, as JSON; 400 if the result has more than 50 pairs. */
export function mergedMetadata(stored: string, sent: Record<string, string | null> | undefined): string | Problem {
  if (sent === undefined) return stored
  const pairs = Object.entries({ ...JSON.parse(stored), ...sent }).filter(([, value]) => value !== null)
  if (pairs.length <= MAX_PAIRS) return JSON.stringify(Object.fromEntries(pairs))
  return invalid('metadata', `metadata would have more than ${MAX_PAIRS} pairs.`)
}
