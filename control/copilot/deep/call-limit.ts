const MINUTE_MS = 60_000

/** Applies `max_calls_per_minute`: counts how often models were asked for a session in the last minute. */
export class CallLimit {
  readonly #asked = new Map<string, number[]>()

  /** Counts one more. False: the limit is reached. */
  take(sessionId: string, most: number, nowMs: number): boolean {
    const asked = (this.#asked.get(sessionId) ?? []).filter(at => at > nowMs - MINUTE_MS)
    this.#asked.set(sessionId, asked)
    if (asked.length >= most) return false
    asked.push(nowMs)
    return true
  }

  forget(sessionId: string): void {
    this.#asked.delete(sessionId)
  }
}
