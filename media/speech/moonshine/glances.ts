/** Legs whose words may wait for a glance; of a further one the first gives up its place. */
const MAX_WAITING = 64

interface Waiting {
  begin(): void
  giveUp(): void
}

/**
 * What waits for the recogniser to have nothing else to do, so that it delays nobody: of each leg the newest alone, as it holds all that
 * the one before held. Legs have their turns in the order in which they came.
 */
export class Glances {
  readonly #waiting = new Map<string, Waiting>()

  get size(): number {
    return this.#waiting.size
  }

  /** Resolves with whether it is its turn; else something newer has come, or too many wait. */
  turn(leg: string): Promise<boolean> {
    // In a map what takes another's place stays where that was.
    this.#waiting.get(leg)?.giveUp()
    return new Promise(resolve => {
      this.#waiting.set(leg, { begin: () => resolve(true), giveUp: () => resolve(false) })
      if (this.#waiting.size > MAX_WAITING) this.drop(this.#waiting.keys().next().value!)
    })
  }

  /** What waits of a leg is of no use any more. */
  drop(leg: string): void {
    this.#waiting.get(leg)?.giveUp()
    this.#waiting.delete(leg)
  }

  /** There is time for one. */
  next(): void {
    const first = this.#waiting.entries().next()
    if (first.done) return
    const [leg, waiting] = first.value
    this.#waiting.delete(leg)
    waiting.begin()
  }
}
