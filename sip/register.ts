import type { AgentCore } from './agent-core.ts'
import type { HeaderFields, Peer, RegisterContact, RegisterReply } from './agent-types.ts'
import {
  type DigestAlgorithm,
  type DigestResponse,
  formatChallenge,
  NO_HA1,
  parseDigestResponse,
  verifyDigest,
} from './auth/digest.ts'
import type { Refusal } from './inspect-request.ts'
import { parseDeltaSeconds, parseNameAddr } from './message/headers.ts'
import { type SipRequest, toText } from './message/message.ts'
import { paramValue } from './message/params.ts'
import { parseUri, userOf } from './message/uri.ts'
import type { ServerTransaction } from './transaction/transactions.ts'

/** Contacts in one REGISTER, and the length of one's URI [characters]. */
const MAX_CONTACTS = 10
const MAX_URI = 500
/** What a contact gets that asks for no time (RFC 3261 §10.3) [s]. */
const DEFAULT_EXPIRES_S = 3600
/**
 * What a phone is challenged with that names no other hash itself: widespread ones give up at the sight of a second challenge, or of
 * one by SHA-256, where RFC 8760 §2.4 has them pass over it.
 */
const USUAL_ALGORITHM: DigestAlgorithm = 'MD5'

/**
 * The registrar's half of RFC 3261 §10.3: what carries no fresh digest of ours is challenged, without a transaction; what does is
 * handed on. Who that is, and what is kept of it, its owner decides.
 */
export function registerRefusal(core: AgentCore, request: SipRequest, now: number): Refusal | null {
  const { realm, nonces } = core.registrar!
  const given = digestFor(request, realm)
  const contacts = contactsOf(request)
  if (!('host' in parseUri(request.to.uri))) return refusal(400)
  if (given === null) return challenge(core, request, false, now)
  if (!isForHost(given, request.uri)) return refusal(400)
  if (nonces.check(given.nonce, now) !== 'fresh') return challenge(core, request, true, now)
  return 'refuse' in contacts ? refusal(contacts.refuse) : null
}

/** Hands on a registration that `registerRefusal` has let pass. */
export function onRegister(core: AgentCore, transaction: ServerTransaction, from: Peer): void {
  const { request } = transaction
  const to = parseUri(request.to.uri)
  const given = digestFor(request, core.registrar!.realm)
  const contacts = contactsOf(request)
  if (!('host' in to) || given === null || 'refuse' in contacts) return
  const registerId = core.options.random()
  core.registrar!.open.set(registerId, { transaction, given })
  core.register({
    registerId,
    user: userOf(to) ?? '',
    host: to.host,
    contacts: contacts.list,
    username: toText(given.username),
    realm: toText(given.realm),
    algorithm: given.algorithm,
    callId: toText(request.callId),
    cSeq: request.cseq.number,
    peer: from,
  })
}

const refusal = (status: number): Refusal => ({ status, headers: [] })

/**
 * Whether the digest of an open REGISTER was made with the password behind `ha1` (null: there is no such account). A wrong one is
 * answered 403, one that was used before is challenged anew, and neither is open any longer. Null: it is not open.
 */
export function checkRegister(core: AgentCore, registerId: string, ha1: string | null, now: number): boolean | null {
  const open = core.registrar?.open.get(registerId)
  if (core.registrar === null || open === undefined) return null
  const { transaction, given } = open
  // The hash is made for a stranger too, so that the time tells nobody which accounts there are.
  const isRight = verifyDigest(given, ha1 ?? NO_HA1, 'REGISTER') && ha1 !== null
  const { username, nonce, nc } = given
  if (isRight && core.registrar.nonces.use(username, nonce, Number.parseInt(nc ?? '0', 16), now)) return true
  core.registrar.open.delete(registerId)
  const { status, headers } = isRight ? challenge(core, transaction.request, true, now) : refusal(403)
  core.refuse(transaction, status, now, headers)
  return false
}

/** Answers an open REGISTER; false when it is not open. */
export function answerRegister(core: AgentCore, registerId: string, reply: RegisterReply, now: number): boolean {
  const open = core.registrar?.open.get(registerId)
  if (open === undefined) return false
  core.registrar?.open.delete(registerId)
  const { status, contacts, minExpiresS, retryAfterS } = reply
  const headers: HeaderFields = [
    ...contacts.map(({ uri, expiresS }) => ['Contact', `<${uri}>;expires=${expiresS}`] as const),
    ...(minExpiresS === null ? [] : [['Min-Expires', String(minExpiresS)] as const]),
    ...(retryAfterS === null ? [] : [['Retry-After', String(retryAfterS)] as const]),
  ]
  core.refuse(open.transaction, status, now, headers)
  return true
}

function challenge(core: AgentCore, request: SipRequest, stale: boolean, now: number): Refusal {
  const { realm, nonces } = core.registrar!
  const nonce = nonces.issue(now)
  const algorithm = algorithmOf(request)
  return { status: 401, headers: [['WWW-Authenticate', formatChallenge({ realm, nonce, algorithm, stale })]] }
}

/** The hash that the phone itself names, be it in an answer to nothing. */
function algorithmOf(request: SipRequest): DigestAlgorithm {
  const named = request.headers.all('authorization').map(value => parseDigestResponse(value)?.algorithm)
  return named.includes('SHA-256') ? 'SHA-256' : USUAL_ALGORITHM
}

/** The digest for our realm; one without qop has no count and could be sent again by anybody who has heard it. */
function digestFor(request: SipRequest, realm: string): DigestResponse | null {
  for (const value of request.headers.all('authorization')) {
    const given = parseDigestResponse(value)
    if (given !== null && given.realm === realm && given.qop === 'auth') return given
  }
  return null
}

/**
 * Whether a digest was made for the registrar that the request names (RFC 7616 §3.4.6, RFC 3261 §22.4). Phones write port and
 * parameters there or leave them out, and some their own user: the host is what counts.
 */
function isForHost(given: DigestResponse, requestUri: string): boolean {
  const [asked, signed] = [parseUri(requestUri), parseUri(given.uri)]
  return 'host' in asked && 'host' in signed && asked.host.toLowerCase() === signed.host.toLowerCase()
}

/** The contacts with the time each asks for (RFC 3261 §10.2.1.1); `*` stands alone and with 0. */
function contactsOf(request: SipRequest): { list: RegisterContact[] } | { refuse: number } {
  const values = request.headers.list('contact')
  const asked = request.headers.get('expires')
  const usual = asked === null ? DEFAULT_EXPIRES_S : (parseDeltaSeconds(asked) ?? DEFAULT_EXPIRES_S)
  if (values.includes('*')) {
    return values.length === 1 && usual === 0 ? { list: [{ uri: '*', expiresS: 0 }] } : { refuse: 400 }
  }
  if (values.length > MAX_CONTACTS) return { refuse: 403 }
  const list: RegisterContact[] = []
  for (const value of values) {
    const contact = parseNameAddr(value)
    const uri = contact === null ? null : parseUri(contact.uri)
    if (contact === null || uri === null || 'error' in uri) return { refuse: 400 }
    if ((uri.scheme !== 'sip' && uri.scheme !== 'sips') || contact.uri.length > MAX_URI) return { refuse: 400 }
    const own = paramValue(contact.params, 'expires')
    list.push({ uri: toText(contact.uri), expiresS: own === null ? usual : (parseDeltaSeconds(own) ?? usual) })
  }
  return { list }
}
