/** What waits at most; who brings more waits until there is room. */
export const MAX_PENDING = 1000

/** What follow-ups work with: each storey adds what it has to offer (`declare module`). */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled from above
export interface Outside {}

/** What follows a commit: a command, and what its answer leads to. */
export type FollowUp = (outside: Outside) => Promise<void>

/** `key`: what it concerns, mostly a call. Follow-ups of one key are done one after the other, in the order in which they were asked for. */
export interface FollowUpTask {
  key: string
  run: FollowUp
}

/** Does a task, or leaves it where nobody is there to be told: then a later comparison finds it. Never rejects. */
export type Perform = (task: FollowUpTask) => Promise<void>

/** What follows the commits of one store. Whatever hangs holds up its own kind alone. */
export class FollowUps {
  /** The last of each key. */
  readonly #chains = new Map<string, Promise<void>>()
  #perform: Perform | null = null
  /** How many have not been done yet. */
  pending = 0
  #ended: (() => void)[] = []

  /** Who does what follows from now on; before, nobody does. */
  performedBy(perform: Perform): void {
    this.#perform = perform
  }

  /** Begins at once, or when those before it with its key are done. */
  begin(task: FollowUpTask): void {
    const perform = this.#perform
    if (perform === null) return
    const { key } = task
    const before = this.#chains.get(key)
    this.pending++
    const done: Promise<void> = (before === undefined ? perform(task) : before.then(() => perform(task))).finally(
      () => {
        this.pending--
        if (this.#chains.get(key) === done) this.#chains.delete(key)
        const ended = this.#ended
        this.#ended = []
        for (const resolve of ended) resolve()
      },
    )
    this.#chains.set(key, done)
  }

  /** Resolves when what has been asked for of this key by now is done. */
  async done(key: string): Promise<void> {
    await this.#chains.get(key)
  }

  /** Resolves when there is room for one more. */
  async room(): Promise<void> {
    while (this.pending >= MAX_PENDING) await this.#oneEnds()
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.pending > 0) await this.#oneEnds()
  }

  #oneEnds(): Promise<void> {
    return new Promise(resolve => this.#ended.push(resolve))
  }
}
