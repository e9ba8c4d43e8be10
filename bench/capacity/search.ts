/** One measurement of a count. */
interface Try<T> {
  count: number
  holds: boolean
  result: T
}

export interface Found<T> {
  /** The highest count that held; null: not even the lowest did. */
  most: Try<T> | null
  /** The lowest count that did not hold; null: all did, up to `last`. */
  failed: Try<T> | null
}

interface Range {
  /** Tried first; every count is a multiple of `unit`. */
  first: number
  unit: number
  last: number
  /** The search ends when the difference of both is at most this share of the count that did not hold. */
  within: number
}

/**
 * Finds the highest count that holds: doubles until one does not, then bisects. A count that fails is tried once more, since other programs use the
 * same machine, and a single bad second is no limit.
 */
export async function findMost<T>(
  range: Range,
  attempt: (count: number) => Promise<{ holds: boolean; result: T }>,
): Promise<Found<T>> {
  const inUnits = (count: number): number =>
    Math.min(range.last, Math.max(range.unit, range.unit * Math.round(count / range.unit)))
  const found: Found<T> = { most: null, failed: null }
  for (let count = inUnits(range.first); ; ) {
    let outcome = await attempt(count)
    if (!outcome.holds) outcome = await attempt(count)
    const tried = { count, ...outcome }
    if (tried.holds) found.most = tried
    else found.failed = tried
    const [low, high] = [found.most?.count ?? 0, found.failed?.count ?? null]
    if (high === null) {
      if (low >= range.last) return found
      count = inUnits(low * 2)
      continue
    }
    const next = inUnits((low + high) / 2)
    if (high - low <= range.within * high || next <= low || next >= high) return found
    count = next
  }
}
