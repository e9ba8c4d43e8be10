import { callingCodeOf } from '../kernel/phone.ts'

const commonPrefix = (a: string, b: string): number => {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}

/** The numbers of the called country that share the longest prefix with the called number; all, if none is of that country. */
function local(pool: readonly string[], to: string): readonly string[] {
  const code = callingCodeOf(to)
  // No calling code is a prefix of another (E.164).
  const near = code === null ? [] : pool.filter(number => number.startsWith(`+${code}`))
  if (near.length === 0) return pool
  const shared = near.map(number => commonPrefix(number, to))
  const most = Math.max(...shared)
  return near.filter((_, i) => shared[i] === most)
}

/** The calling number for a call, from a pool; null: the pool is empty. `turn`: number of calls so far, by which equally good numbers take turns. */
export function callerNumber(
  pool: readonly string[],
  { to, turn, isLocal }: { to: string; turn: number; isLocal: boolean },
): string | null {
  if (pool.length === 0) return null
  const best = isLocal ? local(pool, to) : pool
  return best[turn % best.length] ?? null
}
