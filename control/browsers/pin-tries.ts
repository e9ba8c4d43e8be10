const MAX_TRIES = 3
const LOCKED_MS = 10 * 60 * 1000
/** What is remembered at most; the one that tried longest ago is forgotten. */
const MAX_REMEMBERED = 10_000

/** Three wrong PINs of one client's network at one link, then ten minutes of nothing: four digits are not to be guessed. In memory. */
export class PinTries {
  readonly #wrong = new Map<string, { count: number; until: number }>()

  /** Counts a try before it is judged, so that many at once are no way around; 0, or the seconds to wait [s]. */
  begin(key: string, now: number): number {
    const known = this.#wrong.get(key)
    const tries = known === undefined || known.until <= now ? { count: 0, until: 0 } : known
    if (tries.count >= MAX_TRIES) return Math.ceil((tries.until - now) / 1000)
    this.#wrong.delete(key)
    this.#wrong.set(key, { count: tries.count + 1, until: now + LOCKED_MS })
    if (this.#wrong.size > MAX_REMEMBERED) this.#wrong.delete(this.#wrong.keys().next().value as string)
    return 0
  }

  /** It was right: what came before is forgiven. */
  right(key: string): void {
    this.#wrong.delete(key)
  }

  /** It was right, but a higher PIN may be being guessed: this try does not count, those before it do. */
  undo(key: string): void {
    const known = this.#wrong.get(key)
    if (known !== undefined) known.count--
  }

  /** How many are left. */
  left(key: string): number {
    return MAX_TRIES - (this.#wrong.get(key)?.count ?? 0)
  }
}
