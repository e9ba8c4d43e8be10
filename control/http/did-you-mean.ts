import { distance } from 'fastest-levenshtein'

/** The share of a name's letters that may be wrong. */
const TOLERANCE = 0.4
const MIN_PREFIX = 3

/** The known name that was most likely meant, or null. Differences in case and in joining characters do not count. */
export function didYouMean(name: string, known: readonly string[]): string | null {
  const sent = plain(name)
  const scored = known.map(one => ({ one, faults: faultsBetween(sent, plain(one)) }))
  const best = scored.reduce((a, b) => (b.faults < a.faults ? b : a), { one: '', faults: Infinity })
  return sent !== '' && best.faults <= Math.floor(sent.length * TOLERANCE) ? best.one : null
}

/** A missing end counts as one fault. */
const faultsBetween = (sent: string, known: string): number => {
  const faults = distance(sent, known)
  return sent.length >= MIN_PREFIX && known.startsWith(sent) ? Math.min(faults, 1) : faults
}

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')
