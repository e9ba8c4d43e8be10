import type { InviteAtTheDoor, InviteRefusal } from '../../sip/agent-types.ts'
import { CallerAuth, type CallerVerdict } from '../../sip/auth/caller-auth.ts'
import type { DigestResponse } from '../../sip/auth/digest.ts'
import type { NonceKey } from '../../sip/auth/nonces.ts'
import type { Peer } from '../../sip/user-agent.ts'
import { Guesses } from '../kernel/guesses.ts'
import { randomHex } from '../protocol/chance.ts'
import type { Request } from '../protocol.ts'
import { RateLimit } from '../protocol.ts'
import { fieldsOfStatus } from './causes.ts'
import type { FarEnds } from './far-ends.ts'
import { partyOf } from './line.ts'
import { originOf } from './proxies.ts'
import { REALM } from './registrar.ts'

/** The hashes of which something is stored. */
type StoredAlgorithm = 'MD5' | 'SHA-256'

/**
 * How many calls of strangers who cannot be admitted are reported to control, which logs them: the operator must learn of one who should
 * have been admitted.
 */
const TOLD = { burst: 20, perSecond: 1 }

interface CallersOptions {
  farEnds: Pick<FarEnds, 'byContact'>
  now: () => number
  /** Shared with other nodes; absent: no other node knows our challenges. */
  nonceKey?: NonceKey | undefined
}

/** Authentication of callers: who is challenged, and how responses are verified. */
export class Callers {
  /** How calls from outside all known networks are treated. */
  strangers: Request<'sources.set'>['strangers'] = 'asked'
  /** Strangers' calls that were refused here. */
  refused = 0
  readonly #options: CallersOptions
  readonly #auth: CallerAuth
  readonly #guesses: Guesses
  readonly #told = new RateLimit(TOLD)

  constructor(options: CallersOptions) {
    this.#options = options
    this.#auth = new CallerAuth(REALM, () => randomHex(10), options.nonceKey)
    this.#guesses = new Guesses(options.now)
  }

  /**
   * The answer to an INVITE before there is a transaction, a line, or a question to control. Null: it is accepted. A password, wrong or
   * right, costs its sender a round trip; a flood without one costs us a hash each.
   */
  atTheDoor({ requestUri, authorizations, peer }: Omit<InviteAtTheDoor, 'header'>): InviteRefusal | null {
    const given = this.read(authorizations, requestUri)
    if (given === null) {
      const isExpected =
        peer.isKnown === true || this.#options.farEnds.byContact(partyOf(requestUri).user) !== undefined
      return isExpected ? null : this.#toStranger(peer)
    }
    if (this.#auth.freshness(given, peer.host, this.#options.now()) !== 'fresh') {
      return this.challenge(peer, { stale: true, algorithm: storedAlgorithm(given) })
    }
    return this.#guesses.isLocked(given.username, originOf(peer)) ? { status: 403, headers: [] } : null
  }

  #toStranger(peer: Peer): InviteRefusal | null {
    if (this.strangers === 'challenged') return this.challenge(peer, { stale: false })
    if (this.strangers === 'asked' || this.#told.allow(this.#options.now())) return null
    this.refused++
    return { status: 403, headers: fieldsOfStatus(403, null) }
  }

  read(authorizations: readonly string[], requestUri: string): DigestResponse | null {
    return this.#auth.read(authorizations, requestUri)
  }

  challenge(
    { host }: Pick<Peer, 'host'>,
    options: { stale: boolean; algorithm?: StoredAlgorithm | undefined },
  ): InviteRefusal {
    const value = this.#auth.challenge(host, this.#options.now(), options)
    return { status: 401, headers: [['WWW-Authenticate', value]] }
  }

  /** By H(username:realm:password), hex; null: unknown account. */
  check(given: DigestResponse, ha1: string | null, peer: Pick<Peer, 'host' | 'proxy'>): CallerVerdict {
    const host = originOf(peer)
    if (this.#guesses.isLocked(given.username, host)) return 'wrong'
    const verdict = this.#auth.check(given, ha1, peer.host, this.#options.now())
    if (verdict === 'wrong') this.#guesses.wrong(given.username, host)
    else if (verdict === 'right') this.#guesses.right(given.username, host)
    return verdict
  }
}

/** With which hash an answer was made, as far as an account of ours can have it. */
export const storedAlgorithm = ({ algorithm }: DigestResponse): StoredAlgorithm | undefined =>
  algorithm === 'SHA-512-256' ? undefined : algorithm
