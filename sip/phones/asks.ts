import type { AgentCore } from '../agent-core.ts'
import type { AskEvent, AskReply, HeaderFields, Peer } from '../agent-types.ts'
import { nonceUseOf } from '../auth/digest.ts'
import { encodingRefusal, type Refusal } from '../inspect-request.ts'
import { mediaType, parseDeltaSeconds } from '../message/headers.ts'
import { type SipRequest, toText } from '../message/message.ts'
import { paramValue, unquote } from '../message/params.ts'
import { parseUri, userOf } from '../message/uri.ts'
import type { ServerTransaction } from '../transaction/transactions.ts'
import { isOfRefer } from '../transfer/peer-refer.ts'
import { ALLOW_EVENTS, packageOf, TYPES } from './packages.ts'
import { authRefusal, challengeAnew, digestFor, judgeClaim, refusal } from './phone-auth.ts'

/** The default expiry if a phone requests none (RFC 3842 §3.2, RFC 4235 §3.4) [s]. */
const DEFAULT_EXPIRES_S = 3600
/** The minimum and maximum expiry [s]. */
const MIN_EXPIRES_S = 60
const MAX_EXPIRES_S = 3600
/** Maximum text of a MESSAGE [bytes], so that it fits a datagram (RFC 3428 §8). */
const MAX_TEXT = 1300

/** Phones' requests outside of calls: SUBSCRIBE (RFC 6665) and MESSAGE (RFC 3428). Null: it may be passed on. */
export function askRefusal(core: AgentCore, request: SipRequest, now: number): Refusal | null {
  return (
    (request.method === 'SUBSCRIBE' ? subscribeRefusal(request) : messageRefusal(request)) ??
    authRefusal(core, request, now)
  )
}

function subscribeRefusal(request: SipRequest): Refusal | null {
  const { headers } = request
  const eventPackage = packageOf(request)
  // A REFER alone begins a subscription to what becomes of it (RFC 3515 §2.4.4).
  if (isOfRefer(headers.get('event') ?? '')) return refusal(403)
  if (eventPackage === null) return { status: 489, headers: [['Allow-Events', ALLOW_EVENTS]] }
  const accepted = headers.list('accept').map(value => mediaType(value))
  const type = TYPES[eventPackage]
  if (accepted.length > 0 && ![type, 'application/*', '*/*'].some(one => accepted.includes(one))) return refusal(406)
  const expiresS = expiresOf(request)
  if (expiresS > 0 && expiresS < MIN_EXPIRES_S)
    return { status: 423, headers: [['Min-Expires', String(MIN_EXPIRES_S)]] }
  return null
}

function messageRefusal(request: SipRequest): Refusal | null {
  const encoded = encodingRefusal(request)
  if (encoded !== null) return encoded
  if (request.body.length > MAX_TEXT) return refusal(413)
  const text = textOf(request)
  // Of the right type, but nothing that could be passed on.
  if (text === '') return refusal(400)
  if (text === null) return { status: 415, headers: [['Accept', 'text/plain']] }
  return Buffer.byteLength(text) > MAX_TEXT ? refusal(413) : null
}

/** The text of a MESSAGE in the character set that its type names; null: it is no text, or in a set that nobody knows. */
function textOf({ headers, body }: SipRequest): string | null {
  const type = headers.get('content-type') ?? 'text/plain'
  if (mediaType(type) !== 'text/plain') return null
  try {
    return new TextDecoder(unquote(paramValue(type, 'charset') ?? 'utf-8')).decode(body)
  } catch {
    return null
  }
}

function expiresOf({ headers }: SipRequest): number {
  const asked = headers.get('expires')
  return asked === null ? DEFAULT_EXPIRES_S : (parseDeltaSeconds(asked) ?? DEFAULT_EXPIRES_S)
}

/** Passes on what `askRefusal` has accepted. `subscriptionId`: the one that it refreshes or ends. */
export function onAsk(
  core: AgentCore,
  transaction: ServerTransaction,
  peer: Peer,
  subscriptionId: string | null,
  now: number,
): void {
  const { request } = transaction
  const given = digestFor(core, request)
  if (given === null) return
  if (request.method === 'SUBSCRIBE' && subscriptionId === null && core.subscriptions.isFull) {
    core.refuse(transaction, 503, now, [['Retry-After', '30']])
    return
  }
  const uri = parseUri(request.uri)
  const askId = core.options.random()
  core.asks.set(askId, { transaction, given, peer, subscriptionId })
  const what: AskEvent['what'] =
    request.method === 'SUBSCRIBE'
      ? { method: 'SUBSCRIBE', package: packageOf(request)!, subscriptionId, isEnd: expiresOf(request) === 0 }
      : { method: 'MESSAGE', text: textOf(request) ?? '' }
  core.ask({
    askId,
    to: subscribedUser(request) ?? ('error' in uri || !('host' in uri) ? '' : (userOf(uri) ?? '')),
    username: toText(given.username),
    algorithm: given.algorithm,
    nonce: nonceUseOf(given),
    peer,
    what,
  })
}

/** Inside a subscription the Request-URI is our Contact; the target is in To. */
function subscribedUser(request: SipRequest): string | null {
  if (request.to.tag === null) return null
  const uri = parseUri(request.to.uri)
  return 'host' in uri ? (userOf(uri) ?? '') : ''
}

/** Verifies the digest of an open request: see `judgeClaim`. */
export const checkAsk = (core: AgentCore, askId: string, ha1: string | null, now: number): boolean | null =>
  judgeClaim(core, core.asks, askId, ha1, now)

/** Answers an open request. @returns the subscription that it has begun or continues; null: none */
export function answerAsk(core: AgentCore, askId: string, reply: AskReply, now: number): string | null {
  const open = core.asks.get(askId)
  if (open === undefined) return null
  core.asks.delete(askId)
  const { transaction, peer, subscriptionId } = open
  if (reply.state === null || reply.status >= 300) {
    const waits: HeaderFields = reply.retryAfterS === null ? [] : [['Retry-After', String(reply.retryAfterS)]]
    const headers = reply.status === 401 ? challengeAnew(core, transaction.request, now).headers : waits
    core.refuse(transaction, reply.status, now, headers)
    return null
  }
  const given = { expiresS: Math.min(expiresOf(transaction.request), MAX_EXPIRES_S), state: reply.state }
  if (subscriptionId === null) {
    const eventPackage = packageOf(transaction.request)!
    return core.subscriptions.begin({ transaction, peer, eventPackage }, given, now)
  }
  if (core.subscriptions.refresh(subscriptionId, transaction, given, now)) return subscriptionId
  core.refuse(transaction, 481, now)
  return null
}
