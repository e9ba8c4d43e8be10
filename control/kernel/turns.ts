/** Runs tasks of one key one after the other, and those of different keys concurrently. */
export class Turns {
  /** The last task of each key. */
  readonly #last = new Map<string, Promise<unknown>>()

  /** Settles like `run`, once its turn has come. */
  take<T>(key: string, run: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const turn = before === undefined ? run() : before.then(run)
    const done: Promise<unknown> = turn
      .catch(() => {})
      .finally(() => {
        if (this.#last.get(key) === done) this.#last.delete(key)
      })
    this.#last.set(key, done)
    return turn
  }

  /** Resolves when the tasks of this key so far are done. */
  async last(key: string): Promise<void> {
    await this.#last.get(key)
  }

  /** Resolves when no task is running. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values())
  }
}
