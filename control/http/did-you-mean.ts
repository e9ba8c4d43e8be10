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

/** A missing end counts as one fault, and so do two swapped letters. */
const faultsBetween = (sent: string, known: string): number => {
  const faults = Math.min(distance(sent, known), isSwapped(sent, known) ? 1 : Infinity)
  return sent.length >= MIN_PREFIX && known.startsWith(sent) ? Math.min(faults, 1) : faults
}

/** Whether two swapped neighbours are the only difference. */
function isSwapped(sent: string, known: string): boolean {
  if (sent.length !== known.length) return false
  const at = [...sent].findIndex((letter, i) => letter !== known[i])
  return at >= 0 && sent.slice(0, at) + (sent[at + 1] ?? '') + sent[at] + sent.slice(at + 2) === known
}

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')
