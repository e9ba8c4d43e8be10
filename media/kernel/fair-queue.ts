/**
 * What many wait with for few places: each of them is served in turn, however much another one waits with. When it is full, who
 * waits with the most gives up its last for who waits with less.
 */
export class FairQueue<T> {
  readonly #lines = new Map<string, T[]>()
  readonly #max: number
  #size = 0
  /** Whose turn it was. */
  #served: string | null = null

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#size
  }

  /** Returns what has to go for it, `item` itself perhaps; null: there was room. */
  push(share: string, item: T): T | null {
    const line = this.#lines.get(share) ?? []
    let given: T | null = null
    if (this.#size >= this.#max) {
      const longest = this.#longest()
      if (longest === null || longest.length <= line.length + 1) return item
      given = longest.pop()!
      this.#size--
    }
    line.push(item)
    this.#lines.set(share, line)
    this.#size++
    return given
  }

  #longest(): T[] | null {
    let longest: T[] | null = null
    for (const line of this.#lines.values()) if (longest === null || line.length > longest.length) longest = line
    return longest
  }

  /** This one had its turn without waiting. */
  skip(share: string): void {
    this.#served = share
  }

  /** The first of whoever waits for its turn the longest. */
  shift(): T | undefined {
    const last = this.#served === null ? undefined : this.#lines.get(this.#served)
    if (last !== undefined) {
      // Behind those who have come while it was served.
      this.#lines.delete(this.#served!)
      this.#lines.set(this.#served!, last)
    }
    const next = this.#lines.entries().next()
    if (next.done) return undefined
    const [share, line] = next.value
    this.#served = share
    if (line.length === 1) this.#lines.delete(share)
    this.#size--
    return line.shift()
  }

  /** Takes all that waits. */
  clear(): T[] {
    const all = [...this.#lines.values()].flat()
    this.#lines.clear()
    this.#size = 0
    return all
  }
}
