import { createHmac, timingSafeEqual } from 'node:crypto'

/** How long a nonce is fresh [ms]. */
const LIFETIME_MS = 5 * 60 * 1000
/** Nonces whose count is remembered; beyond it no further one is taken until those have run out. */
const MAX_USED = 50_000
const MAC_BYTES = 16

export type Freshness = 'fresh' | 'stale' | 'foreign'

/**
 * Nonces of a digest challenge that cost no memory until somebody has answered one rightly: each carries its time and our mark
 * (RFC 7616 §3.3, §5.4).
 */
export class Nonces {
  readonly #secret: string
  readonly #random: () => string
  /** The highest nc that was taken, by nonce, in the order of their first use. */
  readonly #used = new Map<string, number>()

  /** @param secret unguessable @param random fresh on every call */
  constructor(secret: string, random: () => string) {
    this.#secret = secret
    this.#random = random
  }

  /** `now` monotonic [ms]. */
  issue(now: number): string {
    const body = `${Math.floor(now).toString(36)}.${this.#random()}`
    return `${body}.${this.#mark(body)}`
  }

  check(nonce: string, now: number): Freshness {
    const dot = nonce.lastIndexOf('.')
    const body = nonce.slice(0, Math.max(0, dot))
    const expected = Buffer.from(this.#mark(body), 'latin1')
    const actual = Buffer.from(nonce.slice(dot + 1), 'latin1')
    if (expected.length !== actual.length || !timingSafeEqual(expected, actual)) return 'foreign'
    const issuedAt = Number.parseInt(body.slice(0, body.indexOf('.')), 36)
    return now - issuedAt <= LIFETIME_MS ? 'fresh' : 'stale'
  }

  /** Uses a nonce once more, by a right answer; false: this `nc` was used before, so somebody replays it, or too many are in use. */
  use(nonce: string, nc: number, now: number): boolean {
    const before = this.#used.get(nonce)
    if (before !== undefined && nc <= before) return false
    if (before === undefined) this.#forgetStale(now)
    if (before === undefined && this.#used.size >= MAX_USED) return false
    this.#used.set(nonce, nc)
    return true
  }

  /** A nonce that has run out is refused by its time; those used first run out first, nearly. */
  #forgetStale(now: number): void {
    for (const nonce of this.#used.keys()) {
      if (this.check(nonce, now) === 'fresh') return
      this.#used.delete(nonce)
    }
  }

  #mark(body: string): string {
    return createHmac('sha256', this.#secret)
      .update(body)
      .digest('hex')
      .slice(0, 2 * MAC_BYTES)
  }
}
