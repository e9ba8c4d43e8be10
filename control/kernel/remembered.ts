import { LRUCache } from 'lru-cache'
import { atMost } from '../../media/protocol.ts'

/** The same function, caching the `most` recently used results. */
export function remembered<T extends {}>(most: number, make: (text: string) => T): (text: string) => T {
  const known = new LRUCache<string, T>(atMost(most))
  return text => {
    const before = known.get(text)
    if (before !== undefined) return before
    const made = make(text)
    known.set(text, made)
    return made
  }
}
