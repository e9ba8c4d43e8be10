/** Marks that may wait; further ones are dropped and counted. */
const MAX_WAITING_MARKS = 1000
const NONE: readonly string[] = []

/** The marks in audio that was not heard yet, each at its place. Places only rise; in which unit is the owner's choice. */
export class MarkList {
  dropped = 0
  #marks: { name: string; at: number }[] = []

  add(name: string, at: number): void {
    if (this.#marks.length < MAX_WAITING_MARKS) this.#marks.push({ name, at })
    else this.dropped++
  }

  /** Whether there is one up to this place. */
  isReached(place: number): boolean {
    return this.#marks.length > 0 && this.#marks[0]!.at <= place
  }

  /** Takes those up to this place. */
  take(place: number): readonly string[] {
    if (!this.isReached(place)) return NONE
    const behind = this.#marks.findIndex(({ at }) => at > place)
    return this.#marks.splice(0, behind < 0 ? this.#marks.length : behind).map(({ name }) => name)
  }
}
