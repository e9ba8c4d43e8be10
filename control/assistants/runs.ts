import type { Stage } from './stage.ts'

interface Run {
  /** Null: it is still being set up. */
  stage: Stage | null
  isStopped: boolean
  done: Promise<void>
}

/** The runs of this process, one at a time for each call. */
export class Runs {
  readonly #runs = new Map<string, Run>()

  get count(): number {
    return this.#runs.size
  }

  /**
   * Stops the call's run before, waits until it is over, and begins one with the stage from `open`; if that is null, there is none to
   * begin. Resolves, or rejects, when the run is over.
   */
  begin(callId: string, open: () => Promise<Stage | null>, lead: (stage: Stage) => Promise<void>): Promise<void> {
    const before = this.#runs.get(callId)
    this.stop(callId)
    const run: Run = { stage: null, isStopped: false, done: Promise.resolve() }
    const go = async (): Promise<void> => {
      try {
        await before?.done
        if (run.isStopped) return
        run.stage = await open()
        if (run.isStopped || run.stage === null) return
        await lead(run.stage)
      } finally {
        if (this.#runs.get(callId) === run) this.#runs.delete(callId)
      }
    }
    this.#runs.set(callId, run)
    const over = go()
    // Whoever waits for the end of this run does not need its outcome.
    run.done = over.catch(() => {})
    return over
  }

  /** Idempotent. */
  stop(callId: string): void {
    const run = this.#runs.get(callId)
    if (run === undefined) return
    run.isStopped = true
    run.stage?.stop()
  }

  /** Wakes the program of a call to look at new inputs. */
  wake(callId: string): void {
    this.#runs.get(callId)?.stage?.wake()
  }

  /** As `wake`, for all programs that wait for a party to answer. */
  wakeRinging(): void {
    for (const { stage } of this.#runs.values()) if (stage?.isRinging === true) stage.wake()
  }

  /** Stops all runs; resolves when they are over. */
  async close(): Promise<void> {
    const runs = [...this.#runs.entries()]
    for (const [callId] of runs) this.stop(callId)
    await Promise.all(runs.map(([, { done }]) => done))
  }
}
