import { parseUri, userOf } from '../message/uri.ts'
import {
  type DigestAlgorithm,
  type DigestResponse,
  formatChallenge,
  NO_HA1,
  parseDigestResponse,
  verifyDigest,
} from './digest.ts'
import { type Freshness, Nonces } from './nonces.ts'

/** As for registrations: widespread phones give up at the sight of another hash than this one, or of a second challenge. */
const USUAL_ALGORITHM: DigestAlgorithm = 'MD5'

/** `stale`: with a nonce that has run out, is of somebody else, or was used before. */
export type CallerVerdict = 'right' | 'wrong' | 'stale'

export interface CallerChallenge {
  /** The last answer's nonce was the only thing wrong with it. */
  stale: boolean
  /** What the caller, or the account, wants; absent: MD5. */
  algorithm?: DigestAlgorithm | undefined
}

/**
 * Who calls by an account proves it (RFC 3261 §22.2): challenges of INVITEs, and what the callers make of them. A nonce counts for the
 * host that it was sent to: who makes up another's address has none, and cannot guess passwords in the other's name.
 */
export class CallerAuth {
  readonly #realm: string
  readonly #nonces: Nonces

  /** @param random unguessable, fresh on every call */
  constructor(realm: string, random: () => string) {
    this.#realm = realm
    this.#nonces = new Nonces(random(), random)
  }

  /** The value of WWW-Authenticate; `now` monotonic [ms]. */
  challenge(host: string, now: number, { stale, algorithm = USUAL_ALGORITHM }: CallerChallenge): string {
    const nonce = this.#nonces.issue(now, host)
    return formatChallenge({ realm: this.#realm, nonce, algorithm, stale })
  }

  /**
   * An Authorization, or Proxy-Authorization, for our realm and for this Request-URI; null when none of them counts: without qop anybody
   * who has heard it could send it again. A proxy on the way may have changed the URI's host, but never whom it calls.
   */
  read(values: readonly string[], requestUri: string): DigestResponse | null {
    for (const value of values) {
      const given = parseDigestResponse(value)
      if (given === null || given.realm !== this.#realm || given.qop !== 'auth') continue
      const [asked, signed] = [parseUri(requestUri), parseUri(given.uri)]
      if ('error' in asked || 'error' in signed) continue
      // Some far ends sign the host alone, as they do when they register.
      const callee = userOf(signed)
      if (callee === null || callee === userOf(asked)) return given
    }
    return null
  }

  /** Whether an answer is to a challenge of ours to this host, and still counts. */
  freshness({ nonce }: DigestResponse, host: string, now: number): Freshness {
    return this.#nonces.check(nonce, now, host)
  }

  /** Judges it by H(username:realm:password), hex; null: there is no such account. */
  check(given: DigestResponse, ha1: string | null, host: string, now: number): CallerVerdict {
    if (this.freshness(given, host, now) !== 'fresh') return 'stale'
    const isRight = verifyDigest(given, ha1 ?? NO_HA1, 'INVITE') && ha1 !== null
    if (!isRight) return 'wrong'
    return this.#nonces.use(given.username, given.nonce, Number.parseInt(given.nc ?? '0', 16), now) ? 'right' : 'stale'
  }
}
