import { Waiting } from '../../kernel/waiting.ts'
import type { CopilotMessageRow, CopilotSessionRow } from '../tables.ts'

/** Who hears of a session's messages once they are committed; the rows are what counts, this only says that there are some. */
export class Feed {
  readonly #waiting = new Waiting()
  /** The last message that listeners of this process have heard of, by running session. */
  readonly #last = new Map<string, number>()
  readonly #told = new Set<(row: CopilotSessionRow, messages: readonly CopilotMessageRow[]) => void>()

  /** Hears of the messages of all sessions of this process; of none: a session has begun, is another's, or has to be shown anew. */
  onTold(listener: (row: CopilotSessionRow, messages: readonly CopilotMessageRow[]) => void): void {
    this.#told.add(listener)
  }

  told(row: CopilotSessionRow, messages: readonly CopilotMessageRow[]): void {
    this.wake(row.id)
    const last = messages.at(-1)?.seq
    if (last !== undefined) this.#last.set(row.id, Math.max(last, this.#last.get(row.id) ?? 0))
    for (const listener of this.#told) listener(row, messages)
  }

  /** The last message that was told here. */
  lastOf(sessionId: string): number | undefined {
    return this.#last.get(sessionId)
  }

  /** Nothing more will be told of it. */
  over(sessionId: string): void {
    this.#last.delete(sessionId)
  }

  wake(sessionId: string): void {
    this.#waiting.wake(sessionId)
  }

  /** Resolves with the next message of this session, after so long, or when it is given up. */
  next(sessionId: string, ms: number, signal: AbortSignal): Promise<void> {
    return this.#waiting.next(sessionId, ms, signal)
  }
}
