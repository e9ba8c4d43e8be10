import {
  ACCEPT,
  ACCEPT_WITHOUT_KEYS,
  type AgentCore,
  type Asked,
  type Crowd,
  headerReader,
  type Session,
  SUPPORTED,
} from './agent-core.ts'
import type { Peer } from './agent-types.ts'
import { isWebSocket } from './destination.ts'
import { advanceRemoteSeq, movePeer } from './dialog.ts'
import { parseDtmfInfo } from './dtmf-info.ts'
import { CALLER_CLEARED, ended, finish, stopAwaitingAck } from './ending.ts'
import { authorizationsOf, onCancelled, onInvite } from './inbound-call.ts'
import { allowed, inspectRequest, isOfOwnType } from './inspect-request.ts'
import { formatResponse, type ResponseParts } from './message/format.ts'
import { firstElement } from './message/headers.ts'
import { ownCopy, type SipRequest, toText } from './message/message.ts'
import type { BrokenRequest } from './message/parse.ts'
import { onEarlyRequest, onReinvite } from './peer-reinvite.ts'
import { askRefusal, onAsk } from './phones/asks.ts'
import { ALLOW_EVENTS } from './phones/packages.ts'
import { onRegister, registerRefusal } from './register.ts'
import { onPrack } from './reliable-provisional.ts'
import { acknowledged } from './success-response.ts'
import type { ServerTransaction } from './transaction/transactions.ts'
import { onReferNotify } from './transfer/own-refer.ts'
import { onRefer, onReferSubscribe, targetOfOutsideRefer } from './transfer/peer-refer.ts'
import { replacedBy } from './transfer/replaces.ts'

const OVERLOAD_RETRY_S = 10
/** Limit of the requests of one call in half a minute; keys may come 20 a second. Further ones count as those of other calls. */
const MAX_CROWD = 1000
/** What an INVITE counts for, since its refusal is sent eleven times if nobody acknowledges it. A BYE always has room. */
const INVITE_CROWD = 20

/** Dispatches a parsed request: to its transaction, else to its dialog, else as a new one (RFC 3261 §8.2, §12.2.2). */
export function onRequest(core: AgentCore, request: SipRequest, from: Peer, now: number): void {
  if (core.transactions.absorb(request, now)) return
  const session = request.to.tag === null ? null : core.find(request)
  if (request.method === 'ACK') {
    if (session === null) core.counters.unmatched++
    else acknowledged(core, session, request, now)
    return
  }
  const asked = askedBy(request, from)
  const { topVia, replyTo } = asked
  const isInside = session !== null || request.method === 'CANCEL'
  const isSubscribed = request.method === 'SUBSCRIBE' && core.subscriptions.find(request) !== null
  if (request.to.tag !== null && session === null && !isSubscribed) core.answer(asked, { status: 481 })
  else if (!isInside && isAnsweredAtOnce(core, asked, from, now)) return
  else if (isCrowded(request, session) || core.transactions.isFull(roomOf(from, isInside))) {
    core.counters.transactionsRefused++
    core.answer(asked, { status: 503, headers: [['Retry-After', String(OVERLOAD_RETRY_S)]] })
  } else if (request.method === 'CANCEL') onCancel(core, asked, now)
  else if (session !== null) inDialog(core, session, openInside(core, session.crowd, asked), from, now)
  else outsideDialog(core, core.transactions.open(request, topVia, replyTo), from, now)
}

/** A request, with where its answer goes. */
export const askedBy = (request: SipRequest, from: Peer): Asked => ({
  request,
  topVia: annotatedVia(request, from),
  replyTo: replyPeer(request, from),
})

const roomOf = ({ isKnown }: Peer, isInside: boolean): 'inside' | 'known' | 'stranger' =>
  isInside ? 'inside' : isKnown === true ? 'known' : 'stranger'

const isCrowded = ({ method }: SipRequest, session: Session | null): boolean =>
  session !== null && method !== 'BYE' && session.crowd.size >= MAX_CROWD

/** Opens a transaction inside a call. It outlasts the call, of which it keeps only the counter. */
function openInside(core: AgentCore, crowd: Crowd, { request, topVia, replyTo }: Asked): ServerTransaction {
  const transaction = core.transactions.open(request, topVia, replyTo)
  const size = request.method === 'INVITE' ? INVITE_CROWD : 1
  crowd.size += size
  transaction.terminated = () => {
    crowd.size -= size
  }
  return transaction
}

/** Answers stateless cases: refusals, OPTIONS, and challenges of registrations and calls. False: it needs a transaction. */
function isAnsweredAtOnce(core: AgentCore, asked: Asked, from: Peer, now: number): boolean {
  const { request } = asked
  const refusal = inspectRequest(request, core.registrar !== null)
  if (refusal !== null) core.answer(asked, refusal)
  else if (request.method === 'OPTIONS') core.answer(asked, optionsAnswer(core))
  else if (request.method === 'REGISTER') return isRefusedRegister(core, asked, now)
  else if (request.method === 'INVITE') return isTurnedAway(core, asked, from)
  else if (isAsk(request)) return isRefusedAsk(core, asked, now)
  else if (request.method === 'REFER') return isRefusedRefer(core, asked, from)
  else core.answer(asked, { status: 481 })
  return true
}

const isAsk = ({ method }: SipRequest): boolean => method === 'SUBSCRIBE' || method === 'MESSAGE'

function isRefusedAsk(core: AgentCore, asked: Asked, now: number): boolean {
  const refusal = askRefusal(core, asked.request, now)
  if (refusal !== null) core.answer(asked, refusal)
  return refusal !== null
}

/** A REFER outside of a call is refused, unless it names one of our calls. */
function isRefusedRefer(core: AgentCore, asked: Asked, from: Peer): boolean {
  const isOfCall = targetOfOutsideRefer(core, asked.request, from) !== null
  if (!isOfCall) core.answer(asked, { status: 403 })
  return !isOfCall
}

function isTurnedAway(core: AgentCore, asked: Asked, peer: Peer): boolean {
  const { request } = asked
  const replaced = replacedBy(core, request, peer)
  // Only the far end of a call knows its tags.
  if (replaced !== null && 'session' in replaced) return false
  const invite = {
    requestUri: toText(request.uri),
    authorizations: authorizationsOf(request),
    header: headerReader(request.headers),
    peer,
  }
  const refusal = core.options.inviteDoor?.(invite) ?? null
  if (refusal !== null) core.answer(asked, refusal)
  return refusal !== null
}

function isRefusedRegister(core: AgentCore, asked: Asked, now: number): boolean {
  const refusal = registerRefusal(core, asked.request, now)
  if (refusal !== null) core.answer(asked, refusal)
  return refusal !== null
}

/** Our copy of the topmost Via, with the real source of the request (RFC 3261 §18.2.1, RFC 3581 §4). */
function annotatedVia(request: SipRequest, from: Peer): string {
  const { via, headers } = request
  const top = firstElement(headers.get('via')!)
  if (via.rport === null && via.host.toLowerCase() === from.host.toLowerCase()) return top
  const bare = top.replace(/;\s*received\s*=[^;]*/gi, '')
  const filled = via.rport === null ? bare : bare.replace(/;\s*rport\s*(?:=[^;]*)?(?=;|$)/i, `;rport=${from.port}`)
  return `${filled};received=${from.host}`
}

/** Responses go to the source of the request; only the port may be the one in Via (RFC 3261 §18.2.2). */
function replyPeer(request: SipRequest, from: Peer): Peer {
  const { via } = request
  if ((from.transport === 'udp' && via.rport !== null) || isWebSocket(from)) return from
  return { ...from, port: via.port ?? (from.transport === 'tls' ? 5061 : 5060) }
}

/**
 * Statelessly refuses a request that could not be parsed; ACK is never answered. `atMostBytes`: a longer answer is not sent, so that nobody
 * can have more sent to others than they send themselves (amplification).
 */
export function refuseBroken(
  core: AgentCore,
  broken: BrokenRequest,
  { status, atMostBytes = Infinity }: { status: number; atMostBytes?: number },
  from: Peer,
): void {
  const answer = broken.method === 'ACK' ? null : formatResponse(broken, null, { status, toTag: core.options.random() })
  if (answer === null || answer.length > atMostBytes) core.counters.dropped++
  else core.send(answer, from)
}

function onCancel(core: AgentCore, asked: Asked, now: number): void {
  const { request, topVia, replyTo } = asked
  const invite = core.transactions.cancelled(request)
  if (invite === null) {
    core.counters.unmatched++
    core.answer(asked, { status: 481 })
    return
  }
  const transaction = core.transactions.open(request, topVia, replyTo)
  const session = 'request' in invite ? core.byInvite.get(invite) : undefined
  // A transaction with a final response keeps its tag.
  const toTag = 'toTag' in invite ? invite.toTag : session?.localTag
  core.respond(transaction, { status: 200, toTag }, now)
  if ('request' in invite && session !== undefined) onCancelled(core, session, invite, request, now)
}

function outsideDialog(core: AgentCore, transaction: ServerTransaction, from: Peer, now: number): void {
  const { request } = transaction
  const referred = request.method === 'REFER' ? targetOfOutsideRefer(core, request, from) : null
  if (request.method === 'REGISTER') onRegister(core, transaction, from)
  else if (isAsk(request)) onAsk(core, transaction, from, core.subscriptions.find(request), now)
  else if (referred !== null) onRefer(core, referred, transaction, now)
  else if (cameByAnotherPath(core, transaction)) core.refuse(transaction, 482, now)
  else onInvite(core, transaction, from, now)
}

function cameByAnotherPath(core: AgentCore, transaction: ServerTransaction): boolean {
  const { from, callId, cseq } = transaction.request
  if (from.tag === null) return false
  const key = ownCopy(`${callId}\n${from.tag}\n${cseq.number}`)
  if (core.invites.has(key)) return true
  core.invites.add(key)
  transaction.terminated = () => core.invites.delete(key)
  return false
}

/** The owner's capabilities, with the status that it would give an INVITE now (RFC 3261 §11.2). Phones register, subscribe and text outside of calls. */
function optionsAnswer(core: AgentCore, isInside = false): Pick<ResponseParts, 'status' | 'reason' | 'headers'> {
  const { status, reason, retryAfterS } = core.options.optionsStatus?.() ?? { status: 200 }
  const headers: (readonly [string, string])[] = [
    ['Allow', allowed(!isInside && core.options.registrarRealm !== undefined)],
    ['Accept', ACCEPT],
    ['Accept-Encoding', 'identity'],
    ['Accept-Language', 'en'],
    ['Supported', SUPPORTED],
  ]
  // RFC 6665 §4.4.4
  if (!isInside && core.options.registrarRealm !== undefined) headers.push(['Allow-Events', ALLOW_EVENTS])
  if (retryAfterS !== undefined) headers.push(['Retry-After', String(retryAfterS)])
  return { status, ...(reason === undefined ? {} : { reason }), headers }
}

function inDialog(core: AgentCore, session: Session, transaction: ServerTransaction, from: Peer, now: number): void {
  const { request } = transaction
  const early = session.dialog === null ? session.outgoing?.early.get(request.from.tag ?? '') : undefined
  const dialog = session.dialog ?? early?.dialog
  if (dialog === undefined) return
  if (!advanceRemoteSeq(dialog, request.cseq.number)) {
    core.respond(transaction, { status: 500, headers: [['Retry-After', '0']] }, now)
    return
  }
  movePeer(dialog, from)
  const refusal = inspectRequest(request, request.method === 'SUBSCRIBE')
  if (refusal !== null) core.respond(transaction, refusal, now)
  else if (request.method === 'SUBSCRIBE') onReferSubscribe(core, session, transaction, now)
  else if (request.method === 'BYE' && early === undefined) onBye(core, session, transaction, now)
  else if (request.method === 'OPTIONS')
    core.respond(transaction, { ...optionsAnswer(core, true), toTag: session.localTag }, now)
  else if (session.phase === 'over') core.respond(transaction, { status: 481 }, now)
  else if (request.method === 'INFO') onInfo(core, session, transaction, now)
  else if (early !== undefined) onEarlyRequest(core, session, early, transaction, now)
  else if (request.method === 'PRACK') onPrack(core, session, transaction, now)
  else if (request.method === 'REFER') onRefer(core, session, transaction, now)
  else if (request.method === 'NOTIFY') onReferNotify(core, session, transaction, now)
  else onReinvite(core, session, transaction, now)
}

function onBye(core: AgentCore, session: Session, transaction: ServerTransaction, now: number): void {
  core.respond(transaction, { status: 200 }, now)
  stopAwaitingAck(core, session)
  if (session.phase === 'over') {
    // Both sides hung up at once, or their BYE overtook the ACK for which ours waited.
    if (session.pendingBye !== null) core.forget(session)
    return
  }
  finish(core, session, ended(session, 'remote', 'bye', transaction.request.headers), now, CALLER_CLEARED)
  // A re-INVITE of ours may still be pending: its own transaction acknowledges the answer.
  session.acknowledge?.(null, now)
  core.forget(session)
}

function onInfo(core: AgentCore, session: Session, transaction: ServerTransaction, now: number): void {
  const { body, headers } = transaction.request
  const isTaken = core.options.takesKeys?.(session.id) ?? true
  // A body of another type has come this far only if it may be ignored.
  const saysKey = body.length > 0 && isOfOwnType(transaction.request)
  const key = !saysKey || !isTaken ? null : parseDtmfInfo(headers.get('content-type') ?? '', body)
  const refusal: ResponseParts = isTaken
    ? { status: 400, reason: 'No Such Key' }
    : { status: 415, headers: [['Accept', ACCEPT_WITHOUT_KEYS]] }
  const isRefused = saysKey && key === null
  if (isRefused) core.counters.keysRefused++
  core.respond(transaction, isRefused ? refusal : { status: 200 }, now)
  if (key !== null) core.emit({ kind: 'info', sessionId: session.id, key })
}
