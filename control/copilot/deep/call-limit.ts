const MINUTE_MS = 60_000

/** `max_calls_per_minute`: how often models were asked of a session in the last minute, for whatever reason. */
export class CallLimit {
  readonly #asked = new Map<string, number[]>()

  /** False: that is enough for now. */
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
