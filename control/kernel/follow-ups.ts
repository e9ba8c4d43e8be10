import { Turns } from './turns.ts'

/** Maximum number of pending tasks; whoever adds more waits until there is room. */
export const MAX_PENDING = 1000

/** The environment of follow-ups: each folder adds what it offers (`declare module`). */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled from above
export interface Outside {}

/** Follow-up work of a commit: a command, and the consequences of its answer. */
export type FollowUp = (outside: Outside) => Promise<void>

/** `key`: what it concerns, mostly a call. Follow-ups of one key run one after the other, in the order of their requests. */
export interface FollowUpTask {
  key: string
  run: FollowUp
}

/** Runs a task, or drops it if there is nobody to carry it out: a later comparison then finds it. Never rejects. */
type Perform = (task: FollowUpTask) => Promise<void>

/** Runs the follow-ups of one store's commits. A task that hangs delays only others of its key. */
export class FollowUps {
  readonly #turns = new Turns()
  #perform: Perform | null = null
  /** Number of unfinished tasks. */
  pending = 0
  #ended: (() => void)[] = []

  /** Sets who runs follow-ups from now on; before, nobody does. */
  performedBy(perform: Perform): void {
    this.#perform = perform
  }

  /** Starts at once, or after the earlier tasks of its key. */
  begin(task: FollowUpTask): void {
    const perform = this.#perform
    if (perform === null) return
    this.pending++
    void this.#turns
      .take(task.key, () => perform(task))
      .finally(() => {
        this.pending--
        const ended = this.#ended
        this.#ended = []
        for (const resolve of ended) resolve()
      })
  }

  /** Resolves when everything requested for this key so far is done. */
  async done(key: string): Promise<void> {
    await this.#turns.last(key)
  }

  /** Resolves when there is room for one more. */
  async room(): Promise<void> {
    while (this.pending >= MAX_PENDING) await this.#oneEnds()
  }

  /** Resolves when no task is running. */
  async idle(): Promise<void> {
    while (this.pending > 0) await this.#oneEnds()
  }

  #oneEnds(): Promise<void> {
    return new Promise(resolve => this.#ended.push(resolve))
  }
}
