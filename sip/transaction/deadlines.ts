/** A pending call-back. `index` is its place in the heap, -1 when it is not pending. */
export interface Deadline {
  atMs: number
  index: number
  readonly run: (now: number) => void
}

/** A binary heap of call-backs by time: set and cancel in O(log n), the next one in O(1). */
export class Deadlines {
  readonly #heap: Deadline[] = []

  get size(): number {
    return this.#heap.length
  }

  /** [ms], or null when nothing is pending. */
  next(): number | null {
    return this.#heap[0]?.atMs ?? null
  }

  set(atMs: number, run: (now: number) => void): Deadline {
    const deadline = { atMs, index: this.#heap.length, run }
    this.#heap.push(deadline)
    this.#up(deadline)
    return deadline
  }

  /** Removes a deadline; one that fired, was cancelled or never existed is ignored. */
  cancel(deadline: Deadline | null): void {
    if (deadline === null || deadline.index < 0) return
    const { index } = deadline
    const last = this.#heap.pop()!
    deadline.index = -1
    if (last === deadline) return
    this.#place(last, index)
    this.#up(last)
    this.#down(last)
  }

  /** Runs everything due at `now`, earliest first, including new deadlines that are due at once. */
  advance(now: number): void {
    for (let first = this.#heap[0]; first !== undefined && first.atMs <= now; first = this.#heap[0]) {
      this.cancel(first)
      first.run(now)
    }
  }

  #place(deadline: Deadline, index: number): void {
    this.#heap[index] = deadline
    deadline.index = index
  }

  #up(deadline: Deadline): void {
    let { index } = deadline
    while (index > 0) {
      const parent = this.#heap[(index - 1) >> 1]!
      if (parent.atMs <= deadline.atMs) break
      this.#place(parent, index)
      index = (index - 1) >> 1
    }
    this.#place(deadline, index)
  }

  #down(deadline: Deadline): void {
    let { index } = deadline
    for (;;) {
      let child = 2 * index + 1
      if (child >= this.#heap.length) break
      if (child + 1 < this.#heap.length && this.#heap[child + 1]!.atMs < this.#heap[child]!.atMs) child++
      if (this.#heap[child]!.atMs >= deadline.atMs) break
      this.#place(this.#heap[child]!, index)
      index = child
    }
    this.#place(deadline, index)
  }
}
