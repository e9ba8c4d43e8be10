/** Lets callers wait for something to happen, by a key. Only the fact is signalled; the details are in the database. */
export class Waiting {
  readonly #waiting = new Map<string, Set<() => void>>()

  wake(key: string): void {
    for (const wake of this.#waiting.get(key) ?? []) wake()
  }

  /** Resolves when the key is woken, after the time-out, or when it is cancelled. */
  next(key: string, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const waiting = this.#waiting.get(key) ?? new Set()
      this.#waiting.set(key, waiting)
      const wake = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        waiting.delete(wake)
        if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
      if (signal.aborted) wake()
    })
  }
}
