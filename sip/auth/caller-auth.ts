import { parseUri, userOf } from '../message/uri.ts'
import {
  type DigestAlgorithm,
  type DigestResponse,
  formatChallenge,
  NO_HA1,
  parseDigestResponse,
  verifyDigest,
} from './digest.ts'
import { type Freshness, type NonceKey, Nonces } from './nonces.ts'

/** As for registrations: widespread phones give up when they see another hash algorithm than this, or a second challenge. */
const USUAL_ALGORITHM: DigestAlgorithm = 'MD5'

/** `stale`: the nonce has expired, belongs to somebody else, or was used before. */
export type CallerVerdict = 'right' | 'wrong' | 'stale'

interface CallerChallenge {
  /** Only the nonce of the last answer was wrong. */
  stale: boolean
  /** The algorithm of the caller or the account; absent: MD5. */
  algorithm?: DigestAlgorithm | undefined
}

/**
 * Authenticates callers by account (RFC 3261 §22.2): challenges INVITEs, and checks the answers. A nonce is bound to the
 * host that it was sent to: a sender with a forged source address has none, and cannot guess passwords in another host's name.
 */
export class CallerAuth {
  readonly #realm: string
  readonly #nonces: Nonces

  /** @param random unguessable, fresh on every call */
  constructor(realm: string, random: () => string, key?: NonceKey) {
    this.#realm = realm
    this.#nonces = new Nonces(random, key)
  }

  /** The value of WWW-Authenticate; `now` monotonic [ms]. */
  challenge(host: string, now: number, { stale, algorithm = USUAL_ALGORITHM }: CallerChallenge): string {
    const nonce = this.#nonces.issue(now, host)
    return formatChallenge({ realm: this.#realm, nonce, algorithm, stale })
  }

  /**
   * An Authorization, or Proxy-Authorization, for our realm and this Request-URI. Null if none is acceptable: without qop, anybody
   * who has seen it could repeat it. A proxy may have changed the URI's host, but never its user.
   */
  read(values: readonly string[], requestUri: string): DigestResponse | null {
    for (const value of values) {
      const given = parseDigestResponse(value)
      if (given === null || given.realm !== this.#realm || given.qop !== 'auth') continue
      const [asked, signed] = [parseUri(requestUri), parseUri(given.uri)]
      if ('error' in asked || 'error' in signed) continue
      // Some far ends sign only the host, as when they register.
      const callee = userOf(signed)
      if (callee === null || callee === userOf(asked)) return given
    }
    return null
  }

  /** Whether an answer belongs to a challenge of ours to this host, and is still valid. */
  freshness({ nonce }: DigestResponse, host: string, now: number): Freshness {
    return this.#nonces.check(nonce, now, host)
  }

  /** Verifies it by H(username:realm:password), hex; null: unknown account. */
  check(given: DigestResponse, ha1: string | null, host: string, now: number): CallerVerdict {
    if (this.freshness(given, host, now) !== 'fresh') return 'stale'
    const isRight = verifyDigest(given, ha1 ?? NO_HA1, 'INVITE') && ha1 !== null
    if (!isRight) return 'wrong'
    return this.#nonces.use(given.username, given.nonce, Number.parseInt(given.nc ?? '0', 16), now) ? 'right' : 'stale'
  }
}
