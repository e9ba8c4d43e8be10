/** What throws on an engine thread: it is told of and counted, and what is to happen happens all the same. */
export class Faults {
  count = 0
  readonly #tell: (error: unknown, legIds: readonly string[]) => void

  /** @param tell gets what was thrown, and the legs that it belongs to */
  constructor(tell: (error: unknown, legIds: readonly string[]) => void) {
    this.#tell = tell
  }

  tell(error: unknown, legIds: readonly string[]): void {
    this.count++
    this.#tell(error, legIds)
  }

  /** Does each of these, whatever becomes of the others: what a leg has opened is closed in any case. */
  allOf(...steps: (() => void)[]): void {
    for (const step of steps) {
      try {
        step()
      } catch (error) {
        this.tell(error, [])
      }
    }
  }
}
