import { type AgentCore, ALLOW, bodyOf, headerReader, newSession, type Session } from './agent-core.ts'
import type { Body, Credentials, HeaderFields, Party, Peer, ReliabilityPolicy } from './agent-types.ts'
import { dialogOfRequest } from './dialog.ts'
import { ended, finish, stopProvisionals, TIMER_EXPIRED } from './ending.ts'
import { readIdentity } from './identity/received.ts'
import { earlyMediaFields } from './message/early-media.ts'
import { type NameAddr, parseDeltaSeconds } from './message/headers.ts'
import { type SipRequest, toText } from './message/message.ts'
import { parseUri } from './message/uri.ts'
import { noteAllow, noteMinSe, runSessionTimer, timerFor } from './own-reinvite.ts'
import { successHeaders } from './peer-reinvite.ts'
import { isReliable, reliabilityOf, sendReliably, whenSettled } from './reliable-provisional.ts'
import { sendSuccess } from './success-response.ts'
import type { ServerTransaction } from './transaction/transactions.ts'
import { replacedBy } from './transfer/replaces.ts'

const PROVISIONAL_REPEAT_MS = 60_000
/** Maximum value of Expires that is observed. */
const MAX_INVITATION_S = 3600

const party = (address: NameAddr): Party => ({
  uri: toText(address.uri),
  displayName: address.displayName === null ? null : toText(address.displayName),
})

/** A new call (RFC 3261 §13.3.1); the request has passed inspection. */
export function onInvite(core: AgentCore, transaction: ServerTransaction, peer: Peer, now: number): void {
  const { request } = transaction
  if (timerFor(core, request.headers).kind === 'too_small') {
    core.refuse(transaction, 422, now, [['Min-SE', String(core.minSessionExpiresS)]])
    return
  }
  const user = userOf(request)
  // A registrar may challenge our requests in its calls too.
  const credentials = core.accounts.get(user) ?? null
  const session = newSession(core, { role: 'uas', callId: request.callId, user, credentials })
  session.dialog = dialogOfRequest(request, session.localTag, peer)
  if (session.dialog === null) {
    core.refuse(transaction, 400, now)
    return
  }
  const replaced = replacedBy(core, request, peer)
  if (replaced !== null && 'status' in replaced) {
    core.refuse(transaction, replaced.status, now)
    return
  }
  session.incoming = transaction
  noteAllow(session, request.headers)
  noteMinSe(session, request.headers)
  core.add(session)
  core.byInvite.set(transaction, session)
  core.respond(transaction, { status: 100 }, now)
  expireInvitation(core, session, request, now)
  core.emit({
    kind: 'incoming',
    sessionId: session.id,
    requestUri: toText(request.uri),
    from: party(request.from),
    to: party(request.to),
    callId: toText(request.callId),
    header: headerReader(request.headers),
    identity: readIdentity(request.headers),
    authorizations: authorizationsOf(request),
    offer: bodyOf(request),
    reliability: reliabilityOf(request),
    peer,
    ...(replaced === null ? {} : { replaces: replaced.session.id }),
  })
}

/** The caller's Expires limits how long it waits for an answer (RFC 3261 §13.3.1). After that the call ends as if the caller had hung up. */
function expireInvitation(core: AgentCore, session: Session, { headers }: SipRequest, now: number): void {
  const seconds = parseDeltaSeconds(headers.get('expires') ?? '')
  // 0 is ignored, since nobody could answer in that time.
  if (seconds === null || seconds === 0 || seconds > MAX_INVITATION_S) return
  session.expireAt = core.deadlines.set(now + seconds * 1000, at => {
    finish(core, session, ended(session, 'remote', 'cancel'), at, TIMER_EXPIRED)
    core.forget(session)
  })
}

export const authorizationsOf = ({ headers }: SipRequest): string[] =>
  [...headers.all('authorization'), ...headers.all('proxy-authorization')].map(toText)

function userOf(request: SipRequest): string {
  const uri = parseUri(request.uri)
  return 'error' in uri || uri.scheme === 'other' || uri.scheme === 'tel' ? '' : (uri.user ?? '')
}

/** Record-Route is copied into everything that makes a dialog (RFC 3261 §12.1.1). */
const recordRoute = (request: SipRequest): HeaderFields =>
  request.headers.all('record-route').map(value => ['Record-Route', value] as const)

/** `policy`: who gets it reliably; absent: only callers that require it. An offer that cannot be sent reliably is omitted. */
export function sendProvisional(
  core: AgentCore,
  session: Session,
  { status, body, policy = 'when_required' }: { status: number; body: Body | null; policy?: ReliabilityPolicy },
  now: number,
): void {
  const transaction = session.incoming
  if (transaction === null || status <= 100 || status > 199) return
  const { request } = transaction
  const contact = core.contactIn(session.dialog!, session.user)
  const early = earlyMediaFields(request.headers, body !== null)
  const headers: HeaderFields = [...recordRoute(request), ['Contact', contact], ['Allow', ALLOW], ...early]
  const isAcknowledged = isReliable(request, policy, body)
  if (isAcknowledged) sendReliably(core, session, transaction, { status, body, headers }, now)
  else {
    const shown = bodyOf(request) === null ? null : body
    core.respond(transaction, { status, toTag: session.localTag, headers, body: shown }, now)
  }
  repeatProvisional(core, session, { status, policy, isAcknowledged }, now)
}

/** So that proxies keep the call: the same bytes again, or another reliable response (RFC 3261 §13.3.1.1, RFC 3262 §3). */
function repeatProvisional(
  core: AgentCore,
  session: Session,
  told: { status: number; policy: ReliabilityPolicy; isAcknowledged: boolean },
  now: number,
): void {
  core.deadlines.cancel(session.provisionalAt)
  session.provisionalAt = core.deadlines.set(now + PROVISIONAL_REPEAT_MS, at => {
    const transaction = session.incoming
    if (transaction === null || transaction.last === null) return
    if (told.isAcknowledged) {
      sendProvisional(core, session, { status: told.status, body: null, policy: told.policy }, at)
      return
    }
    core.counters.retransmissionsSent++
    core.send(transaction.last, transaction.replyTo)
    repeatProvisional(core, session, told, at)
  })
}

/**
 * Sets the credentials for challenges of the far end that has called, only at the host that it has called from: another host in its Contact
 * could use the response elsewhere.
 */
export function mayAsk(session: Session, credentials: Credentials): void {
  if (session.credentials !== null || session.dialog === null) return
  session.credentials = credentials
  session.credentialsOf = session.dialog.peer.host
}

/** From now on neither its CANCEL nor its Expires ends the call (RFC 3261 §9.2, §13.3.1). */
export function beginAnswer(core: AgentCore, session: Session): void {
  session.isAnswering = session.incoming !== null
  core.deadlines.cancel(session.expireAt)
}

/**
 * 200 to the INVITE (RFC 3261 §13.3.1.4), once provisional descriptions are acknowledged (RFC 3262 §3). `body` null: our offer
 * and its answer were exchanged by provisional response and PRACK.
 */
export function acceptCall(core: AgentCore, session: Session, parts: Acceptance, now: number): void {
  if (session.incoming === null) return
  session.localDescription = parts.body ?? session.localDescription
  whenSettled(session, at => accept(core, session, parts, at), now)
}

interface Acceptance {
  body: Body | null
  headers: HeaderFields
}

function accept(core: AgentCore, session: Session, { body, headers: more }: Acceptance, now: number): void {
  const transaction = session.incoming
  if (transaction === null) return
  const { request } = transaction
  session.incoming = null
  session.phase = 'answered'
  core.deadlines.cancel(session.provisionalAt)
  stopProvisionals(core, session)
  const timer = timerFor(core, request.headers)
  const headers = [...recordRoute(request), ...successHeaders(core, session, session.dialog!, timer), ...more]
  const confirmed = (body: Body | null): void => core.emit({ kind: 'confirmed', sessionId: session.id, body })
  sendSuccess(core, session, transaction, { status: 200, toTag: session.localTag, headers, body }, confirmed, now)
  core.emit({ kind: 'accepted', sessionId: session.id })
  runSessionTimer(core, session, timer.kind === 'agreed' ? timer.timer : null, now)
}

/** Refuses the call with any final response from 300 on. */
export function rejectCall(
  core: AgentCore,
  session: Session,
  parts: { status: number; reason?: string; headers?: HeaderFields },
  now: number,
): void {
  const transaction = session.incoming
  if (transaction === null || parts.status < 300 || parts.status > 699) return
  session.incoming = null
  core.respond(transaction, { ...parts, toTag: session.localTag }, now)
  finish(core, session, ended(session, 'local', 'rejected'), now)
  core.forget(session)
}

/** Forgets an unanswered call without a word to the caller: somebody else answers this INVITE. Null: it has an answer. */
export function handOver(core: AgentCore, session: Session, now: number): ServerTransaction | null {
  const transaction = session.incoming
  if (transaction === null) return null
  session.incoming = null
  core.transactions.abandon(transaction)
  finish(core, session, ended(session, 'local', 'rejected'), now)
  core.forget(session)
  return transaction
}

/** CANCEL for an INVITE or re-INVITE that has no final response yet (RFC 3261 §9.2). */
export function onCancelled(
  core: AgentCore,
  session: Session,
  invite: ServerTransaction,
  cancel: SipRequest,
  now: number,
): void {
  if (session.peerReinvite === invite) {
    session.peerReinvite = null
    core.respond(invite, { status: 487 }, now)
  } else if (session.incoming === invite && !session.isAnswering) {
    finish(core, session, ended(session, 'remote', 'cancel', cancel.headers), now)
    core.forget(session)
  }
}
