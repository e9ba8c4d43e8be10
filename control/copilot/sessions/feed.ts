import { Waiting } from '../../kernel/waiting.ts'
import type { CopilotMessageRow, CopilotSessionRow } from '../tables.ts'

/** Notifies listeners of committed messages of a session. The messages themselves are read from their rows. */
export class Feed {
  readonly #waiting = new Waiting()
  /** By running session: the number of the last message of which listeners of this process were notified. */
  readonly #last = new Map<string, number>()
  readonly #told = new Set<(row: CopilotSessionRow, messages: readonly CopilotMessageRow[]) => void>()

  /** Adds a listener for the messages of all sessions. An empty list means that a session has begun, was assigned, or has to be shown anew. */
  onTold(listener: (row: CopilotSessionRow, messages: readonly CopilotMessageRow[]) => void): void {
    this.#told.add(listener)
  }

  told(row: CopilotSessionRow, messages: readonly CopilotMessageRow[]): void {
    this.wake(row.id)
    const last = messages.at(-1)?.seq
    if (last !== undefined) this.#last.set(row.id, Math.max(last, this.#last.get(row.id) ?? 0))
    for (const listener of this.#told) listener(row, messages)
  }

  /** The number of the last message of which listeners here were notified. */
  lastOf(sessionId: string): number | undefined {
    return this.#last.get(sessionId)
  }

  /** Forgets a session that has no more messages. */
  over(sessionId: string): void {
    this.#last.delete(sessionId)
  }

  wake(sessionId: string): void {
    this.#waiting.wake(sessionId)
  }

  /** Resolves with the next message of this session, after `ms`, or when aborted. */
  next(sessionId: string, ms: number, signal: AbortSignal): Promise<void> {
    return this.#waiting.next(sessionId, ms, signal)
  }
}
