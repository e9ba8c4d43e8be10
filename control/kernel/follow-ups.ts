/** What waits at most; who brings more waits until there is room. */
const MAX_PENDING = 1000

/** Something to be done once an event is committed. Those of one key, a leg or a call, are done one after the other. */
export interface FollowUpTask {
  key: string
  run: () => Promise<void>
}

/** Does what follows events: whatever hangs holds up its own kind alone. */
export class FollowUps {
  /** The last of each key. */
  readonly #chains = new Map<string, Promise<void>>()
  #pending = 0
  #ended: (() => void)[] = []

  /** Begins at once, or when those before it with its key are done. `failed` gets what it throws, before the next of its key begins. */
  begin({ key, run }: FollowUpTask, failed: (error: unknown) => Promise<void>): void {
    const before = this.#chains.get(key)
    this.#pending++
    const done: Promise<void> = (before === undefined ? run() : before.then(run)).catch(failed).finally(() => {
      this.#pending--
      if (this.#chains.get(key) === done) this.#chains.delete(key)
      const ended = this.#ended
      this.#ended = []
      for (const resolve of ended) resolve()
    })
    this.#chains.set(key, done)
  }

  /** Resolves when there is room for one more. */
  async room(): Promise<void> {
    while (this.#pending >= MAX_PENDING) await this.#oneEnds()
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#pending > 0) await this.#oneEnds()
  }

  #oneEnds(): Promise<void> {
    return new Promise(resolve => this.#ended.push(resolve))
  }
}
