import type { CopilotMessageRow, CopilotSessionRow } from '../tables.ts'

/** Who hears of a session's messages once they are committed; the rows are what counts, this only says that there are some. */
export class Feed {
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #told = new Set<(row: CopilotSessionRow, messages: readonly CopilotMessageRow[]) => void>()

  /** Hears of the messages of all sessions of this process; of none: a session has begun, is another's, or has to be shown anew. */
  onTold(listener: (row: CopilotSessionRow, messages: readonly CopilotMessageRow[]) => void): void {
    this.#told.add(listener)
  }

  told(row: CopilotSessionRow, messages: readonly CopilotMessageRow[]): void {
    this.wake(row.id)
    for (const listener of this.#told) listener(row, messages)
  }

  wake(sessionId: string): void {
    for (const wake of this.#waiting.get(sessionId) ?? []) wake()
  }

  /** Resolves with the next message of this session, after so long, or when it is given up. */
  next(sessionId: string, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const waiting = this.#waiting.get(sessionId) ?? new Set()
      this.#waiting.set(sessionId, waiting)
      const wake = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        waiting.delete(wake)
        if (waiting.size === 0 && this.#waiting.get(sessionId) === waiting) this.#waiting.delete(sessionId)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
      if (signal.aborted) wake()
    })
  }
}
