/** The one of `threads` for all that may meet: the same word always gives the same thread. */
export function threadOf<T>(threads: readonly T[], affinity: string): T {
  let hash = 0
  for (let i = 0; i < affinity.length; i++) hash = (Math.imul(hash, 31) + affinity.charCodeAt(i)) >>> 0
  return threads[hash % threads.length]!
}
