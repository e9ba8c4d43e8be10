/** One try of so many. */
export interface Try<T> {
  count: number
  holds: boolean
  result: T
}

export interface Found<T> {
  /** The most that held; null: not even the least did. */
  most: Try<T> | null
  /** The least that did not; null: there was no limit up to the end. */
  failed: Try<T> | null
}

export interface Range {
  /** Tried first; every count is a multiple of `unit`. */
  first: number
  unit: number
  last: number
  /** Found when what held and what did not are so close together, as a share of what did not. */
  within: number
}

/**
 * The most that holds: doubles until it does not, then halves the gap. A count that fails is tried once more: others use the same
 * machine, and a single bad second is no limit.
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
