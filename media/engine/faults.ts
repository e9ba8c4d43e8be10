/** Handles exceptions on an engine thread: they are reported and counted, and the work continues. */
export class Faults {
  count = 0
  readonly #tell: (error: unknown, legIds: readonly string[]) => void

  /** @param tell receives the exception, and the legs it belongs to */
  constructor(tell: (error: unknown, legIds: readonly string[]) => void) {
    this.#tell = tell
  }

  tell(error: unknown, legIds: readonly string[]): void {
    this.count++
    this.#tell(error, legIds)
  }

  /** Runs each step even if others fail, so that whatever a leg has opened is always closed. Returns whether none has failed. */
  allOf(...steps: (() => void)[]): boolean {
    const before = this.count
    for (const step of steps) {
      try {
        step()
      } catch (error) {
        this.tell(error, [])
      }
    }
    return this.count === before
  }
}
