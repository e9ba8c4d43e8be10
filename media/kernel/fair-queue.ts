/**
 * A fair queue for a few places: owners are served in turn, however many items another one has. When it is full, the owner
 * with the most items loses its last one to an owner with fewer.
 */
export class FairQueue<T> {
  readonly #lines = new Map<string, T[]>()
  readonly #max: number
  #size = 0
  /** The owner of the last turn. */
  #served: string | null = null

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#size
  }

  /** Returns the item that had to go, possibly `item` itself; null: there was room. */
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

  /** This owner was served without waiting. */
  skip(share: string): void {
    this.#served = share
  }

  /** The first item of the owner that has waited longest. */
  shift(): T | undefined {
    const last = this.#served === null ? undefined : this.#lines.get(this.#served)
    if (last !== undefined) {
      // Behind those who have arrived in the meantime.
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

  /** Removes everything that waits. */
  clear(): T[] {
    const all = [...this.#lines.values()].flat()
    this.#lines.clear()
    this.#size = 0
    return all
  }
}
