/** The latest IDs of many: what has been is known for a while, in bounded memory. */
export class RecentIds {
  readonly #ids = new Set<string>()
  readonly #max: number

  /** At most `max` are kept; the oldest is forgotten for a new one. */
  constructor(max: number) {
    this.#max = max
  }

  add(id: string): void {
    this.#ids.add(id)
    if (this.#ids.size <= this.#max) return
    const [oldest] = this.#ids
    if (oldest !== undefined) this.#ids.delete(oldest)
  }

  has(id: string): boolean {
    return this.#ids.has(id)
  }
}
