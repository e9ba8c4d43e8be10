import { callingCodeOf } from '../kernel/phone.ts'

const commonPrefix = (a: string, b: string): number => {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}

/**
 * Numbers of the called country, and among them those that share the longest prefix with the called number; all, if none is of that
 * country.
 */
function local(pool: readonly string[], to: string): readonly string[] {
  const code = callingCodeOf(to)
  // No code is the beginning of another (E.164).
  const near = code === null ? [] : pool.filter(number => number.startsWith(`+${code}`))
  if (near.length === 0) return pool
  const shared = near.map(number => commonPrefix(number, to))
  const most = Math.max(...shared)
  return near.filter((_, i) => shared[i] === most)
}

/** The number that a call is from, of a pool; null: the pool is empty. `turn`: calls so far, by which those that are equally good take turns. */
export function callerNumber(
  pool: readonly string[],
  { to, turn, isLocal }: { to: string; turn: number; isLocal: boolean },
): string | null {
  if (pool.length === 0) return null
  const best = isLocal ? local(pool, to) : pool
  return best[turn % best.length] ?? null
}
