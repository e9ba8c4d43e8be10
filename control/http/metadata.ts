import { type Problem, problem } from './errors.ts'

const MAX_PAIRS = 50

/** Stored metadata (JSON) merged with that of a PATCH, as JSON; 400 if the result has more than 50 pairs. */
export function mergedMetadata(stored: string, sent: Record<string, string> | undefined): string | Problem {
  if (sent === undefined) return stored
  const metadata = { ...JSON.parse(stored), ...sent }
  if (Object.keys(metadata).length <= MAX_PAIRS) return JSON.stringify(metadata)
  const message = `metadata would have more than ${MAX_PAIRS} pairs.`
  return problem('parameter_invalid', message, { param: 'metadata' })
}
