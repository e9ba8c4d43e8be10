import { createHmac, timingSafeEqual } from 'node:crypto'

/** How long a nonce is valid [ms]. */
const LIFETIME_MS = 5 * 60 * 1000
/** Maximum number of nonces with a stored count. Beyond it no further one is accepted until some have expired. */
const MAX_USED = 50_000
/** The same for one account. Beyond it the oldest is forgotten, and nonces issued before it are no longer accepted. */
const MAX_OF_ACCOUNT = 64
const MAC_BYTES = 16

/** By how much the clocks of two nodes may differ [ms]. */
const SKEW_MS = 30_000

/** The key shared by all nodes that accept each other's challenges. */
export interface NonceKey {
  secret: string
  /** The time of day [ms] at a monotonic time. */
  timeOfDay: (now: number) => number
}

export type Freshness = 'fresh' | 'stale' | 'foreign'

interface Account {
  /** The highest accepted nc, by nonce. */
  readonly used: Map<string, number>
  /** Nonces issued until then that are not stored may have been used. */
  forgottenAt: number
}

/**
 * Nonces of digest challenges that use no memory until somebody has answered one correctly: each contains its time and our signature
 * (RFC 7616 §3.3, §5.4).
 */
export class Nonces {
  readonly #secret: string
  readonly #random: () => string
  readonly #accounts = new Map<string, Account>()
  #remembered = 0
  #sweptAt = 0

  readonly #timeOf: (now: number) => number

  /** @param random unguessable, fresh on every call @param key absent: one of our own, and no other node knows our nonces */
  constructor(random: () => string, key?: NonceKey) {
    this.#secret = key?.secret ?? random()
    this.#random = random
    this.#timeOf = key?.timeOfDay ?? (now => now)
  }

  /** `now` monotonic [ms]. `host`: who may use it; absent: anybody. */
  issue(now: number, host = ''): string {
    const body = `${Math.floor(this.#timeOf(now)).toString(36)}.${this.#random()}`
    return `${body}.${this.#mark(body, host)}`
  }

  check(nonce: string, now: number, host = ''): Freshness {
    const dot = nonce.lastIndexOf('.')
    const body = nonce.slice(0, Math.max(0, dot))
    const expected = Buffer.from(this.#mark(body, host), 'latin1')
    const actual = Buffer.from(nonce.slice(dot + 1), 'latin1')
    if (expected.length !== actual.length || !timingSafeEqual(expected, actual)) return 'foreign'
    return isFresh(nonce, this.#timeOf(now)) ? 'fresh' : 'stale'
  }

  /**
   * Notes one more use of a nonce, with a correct answer of an account. False: this `nc` was used before, so it is a replay; or the nonce is
   * older than what is stored; or too many are in use.
   */
  use(account: string, nonce: string, nc: number, now: number): boolean {
    const time = this.#timeOf(now)
    const known = this.#accounts.get(account)
    const before = known?.used.get(nonce)
    if (before !== undefined && nc <= before) return false
    if (before === undefined && !this.#hasRoom(known, nonce, time)) return false
    const own = known ?? { used: new Map<string, number>(), forgottenAt: Number.NEGATIVE_INFINITY }
    this.#accounts.set(account, own)
    if (before === undefined) this.#remembered++
    own.used.set(nonce, nc)
    return true
  }

  #hasRoom(own: Account | undefined, nonce: string, now: number): boolean {
    if (now - this.#sweptAt > LIFETIME_MS || this.#remembered >= MAX_USED) this.#sweep(now)
    if (own === undefined) return this.#remembered < MAX_USED
    if (issuedAt(nonce) <= own.forgottenAt) return false
    if (own.used.size >= MAX_OF_ACCOUNT) this.#forgetOldest(own)
    return this.#remembered < MAX_USED
  }

  #forgetOldest(own: Account): void {
    const oldest = [...own.used.keys()].reduce((a, b) => (issuedAt(a) <= issuedAt(b) ? a : b))
    own.forgottenAt = Math.max(own.forgottenAt, issuedAt(oldest))
    own.used.delete(oldest)
    this.#remembered--
  }

  /** An expired nonce is refused by its time, and need not be stored. */
  #sweep(now: number): void {
    this.#sweptAt = now
    for (const [account, own] of this.#accounts) {
      for (const nonce of own.used.keys()) {
        if (isFresh(nonce, now)) continue
        own.used.delete(nonce)
        this.#remembered--
      }
      if (own.used.size === 0) this.#accounts.delete(account)
    }
  }

  #mark(body: string, host: string): string {
    return createHmac('sha256', this.#secret)
      .update(`${body} ${host}`)
      .digest('hex')
      .slice(0, 2 * MAC_BYTES)
  }
}

/** Of a nonce with our mark [ms]. */
const issuedAt = (nonce: string): number => Number.parseInt(nonce.slice(0, nonce.indexOf('.')), 36)

/** @param at on the clock of the nonces [ms] */
const isFresh = (nonce: string, at: number): boolean => {
  const age = at - issuedAt(nonce)
  return age <= LIFETIME_MS && age >= -SKEW_MS
}
