import type { AgentCore, RegistrarState } from '../agent-core.ts'
import {
  type DigestAlgorithm,
  type DigestResponse,
  formatChallenge,
  NO_HA1,
  parseDigestResponse,
  verifyDigest,
} from '../auth/digest.ts'
import type { Refusal } from '../inspect-request.ts'
import type { SipRequest } from '../message/message.ts'
import { parseUri } from '../message/uri.ts'
import type { Claimed } from './phone-state.ts'

/**
 * The algorithm for a phone that names none itself. Widespread phones give up when they see a second challenge, or one with SHA-256, although
 * RFC 8760 §2.4 tells them to skip it.
 */
const USUAL_ALGORITHM: DigestAlgorithm = 'MD5'

export const refusal = (status: number): Refusal => ({ status, headers: [] })

/** Challenges, statelessly, a request without a fresh digest of ours; null: it may be verified. */
export function authRefusal(core: AgentCore, request: SipRequest, now: number): Refusal | null {
  const given = digestFor(core, request)
  if (given === null) return challenge(core, request, false, now)
  if (!isForHost(given, request.uri)) return refusal(400)
  return core.registrar!.nonces.check(given.nonce, now) === 'fresh' ? null : challenge(core, request, true, now)
}

/** The digest for our realm. One without qop has no count and could be repeated by anybody who has seen it. */
export function digestFor({ registrar }: AgentCore, request: SipRequest): DigestResponse | null {
  for (const value of request.headers.all('authorization')) {
    const given = parseDigestResponse(value)
    if (given !== null && given.realm === registrar!.realm && given.qop === 'auth') return given
  }
  return null
}

/**
 * Whether the digest of an open request was made with the password of `ha1` (null: unknown account). A wrong one is
 * answered 403, a replayed one is challenged again; neither stays open. Null: it is not open.
 */
export function judgeClaim<C extends Claimed>(
  core: AgentCore,
  open: Map<string, C>,
  id: string,
  ha1: string | null,
  now: number,
): boolean | null {
  const claimed = open.get(id)
  if (core.registrar === null || claimed === undefined) return null
  const { transaction, given } = claimed
  const { request } = transaction
  // The hash is also computed for an unknown account, so that the response time does not reveal which accounts exist.
  const isRight = verifyDigest(given, ha1 ?? NO_HA1, request.method) && ha1 !== null
  if (isRight && isUnused(core.registrar, given, now)) return true
  open.delete(id)
  const { status, headers } = isRight ? challenge(core, request, true, now) : refusal(403)
  core.refuse(transaction, status, now, headers)
  return false
}

const isUnused = ({ nonces }: RegistrarState, { username, nonce, nc }: DigestResponse, now: number): boolean =>
  nonces.use(username, nonce, Number.parseInt(nc ?? '0', 16), now)

/** For an open request whose nonce was used elsewhere. */
export const challengeAnew = (core: AgentCore, request: SipRequest, now: number): Refusal =>
  challenge(core, request, true, now)

function challenge(core: AgentCore, request: SipRequest, stale: boolean, now: number): Refusal {
  const { realm, nonces } = core.registrar!
  const nonce = nonces.issue(now)
  const algorithm = algorithmOf(request)
  return { status: 401, headers: [['WWW-Authenticate', formatChallenge({ realm, nonce, algorithm, stale })]] }
}

/** The algorithm that the phone itself names, even in an unsolicited answer. */
function algorithmOf(request: SipRequest): DigestAlgorithm {
  const named = request.headers.all('authorization').map(value => parseDigestResponse(value)?.algorithm)
  return named.includes('SHA-256') ? 'SHA-256' : USUAL_ALGORITHM
}

/**
 * Whether a digest was made for the registrar that the request names (RFC 7616 §3.4.6, RFC 3261 §22.4). Phones include or omit port and
 * parameters, and some add their own user: only the host is compared.
 */
function isForHost(given: DigestResponse, requestUri: string): boolean {
  const [asked, signed] = [parseUri(requestUri), parseUri(given.uri)]
  return 'host' in asked && 'host' in signed && asked.host.toLowerCase() === signed.host.toLowerCase()
}
