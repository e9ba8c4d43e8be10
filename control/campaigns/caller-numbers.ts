/** Digits after the country code that have to be alike before a number counts as local. */
const LOCAL_DIGITS = 2

const commonPrefix = (a: string, b: string): number => {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}

/**
 * The number that a call is from, of a pool; null: the pool is empty. With local presence the one that shares the longest beginning with who
 * is called. `turn`: calls so far, by which those that are equally good take turns.
 */
export function callerNumber(
  pool: readonly string[],
  { to, turn, isLocal }: { to: string; turn: number; isLocal: boolean },
): string | null {
  if (pool.length === 0) return null
  const shared = pool.map(number => commonPrefix(number, to))
  const most = Math.max(...shared)
  const best = isLocal && most > LOCAL_DIGITS ? pool.filter((_, i) => shared[i] === most) : pool
  return best[turn % best.length] ?? null
}
