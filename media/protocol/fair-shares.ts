/**
 * Shares a bounded number of places out among many: who holds as many as are free gets no further one. One alone may have half of
 * them, two a third each, and of whoever comes new each finds a place, however long the others keep theirs.
 */
export class FairShares {
  readonly #held = new Map<string, number>()
  #free: number

  constructor(places: number) {
    this.#free = places
  }

  get free(): number {
    return this.#free
  }

  heldBy(key: string): number {
    return this.#held.get(key) ?? 0
  }

  mayTake(key: string): boolean {
    return this.heldBy(key) < this.#free
  }

  take(key: string): void {
    this.#free--
    this.#held.set(key, this.heldBy(key) + 1)
  }

  giveBack(key: string): void {
    this.#free++
    const left = this.heldBy(key) - 1
    if (left > 0) this.#held.set(key, left)
    else this.#held.delete(key)
  }
}
