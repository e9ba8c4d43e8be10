import { parseUri, userOf } from '../message/uri.ts'
import {
  type DigestAlgorithm,
  type DigestResponse,
  formatChallenge,
  NO_HA1,
  parseDigestResponse,
  verifyDigest,
} from './digest.ts'
import { Nonces } from './nonces.ts'

/** As for registrations: widespread phones give up at the sight of another hash than this one. */
const USUAL_ALGORITHM: DigestAlgorithm = 'MD5'

/** `stale`: rightly made, with a nonce that has run out or was used before. */
export type CallerVerdict = 'right' | 'wrong' | 'stale'

/** Who calls by an account proves it (RFC 3261 §22.3): challenges of INVITEs, and what the callers make of them. */
export class CallerAuth {
  readonly #realm: string
  readonly #nonces: Nonces

  /** @param random unguessable, fresh on every call */
  constructor(realm: string, random: () => string) {
    this.#realm = realm
    this.#nonces = new Nonces(random(), random)
  }

  /** The value of Proxy-Authenticate; `now` monotonic [ms]. */
  challenge(now: number, { stale }: { stale: boolean }): string {
    const nonce = this.#nonces.issue(now)
    return formatChallenge({ realm: this.#realm, nonce, algorithm: USUAL_ALGORITHM, stale })
  }

  /**
   * A Proxy-Authorization for our realm and for this Request-URI; null when it is none that counts: without qop anybody who has
   * heard it could send it again. A proxy on the way may have changed the URI's host, but never whom it calls.
   */
  read(value: string | null, requestUri: string): DigestResponse | null {
    const given = value === null ? null : parseDigestResponse(value)
    if (given === null || given.realm !== this.#realm || given.qop !== 'auth') return null
    const [asked, signed] = [parseUri(requestUri), parseUri(given.uri)]
    if ('error' in asked || 'error' in signed || userOf(asked) !== userOf(signed)) return null
    return given
  }

  /** Judges it by H(username:realm:password), hex; null: there is no such account. */
  check(given: DigestResponse, ha1: string | null, now: number): CallerVerdict {
    const isRight = verifyDigest(given, ha1 ?? NO_HA1, 'INVITE') && ha1 !== null
    if (!isRight) return 'wrong'
    if (this.#nonces.check(given.nonce, now) !== 'fresh') return 'stale'
    return this.#nonces.use(given.username, given.nonce, Number.parseInt(given.nc ?? '0', 16), now) ? 'right' : 'stale'
  }
}
