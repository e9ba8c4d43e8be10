import { type AgentCore, bodyOf, headerReader, newSession, type Session } from './agent-core.ts'
import type { Body, HeaderFields, Party, Peer } from './agent-types.ts'
import { dialogOfRequest } from './dialog.ts'
import { ended, finish } from './ending.ts'
import type { NameAddr } from './message/headers.ts'
import { type SipRequest, toText } from './message/message.ts'
import { parseUri } from './message/uri.ts'
import { runSessionTimer } from './own-reinvite.ts'
import { successHeaders } from './peer-reinvite.ts'
import { answerSessionTimer } from './session-timer.ts'
import { sendSuccess } from './success-response.ts'
import type { ServerTransaction } from './transaction/transactions.ts'

const PROVISIONAL_REPEAT_MS = 60_000

const party = (address: NameAddr): Party => ({
  uri: toText(address.uri),
  displayName: address.displayName === null ? null : toText(address.displayName),
})

/** A new call (RFC 3261 §13.3.1); the request has passed inspection. */
export function onInvite(core: AgentCore, transaction: ServerTransaction, peer: Peer, now: number): void {
  const { request } = transaction
  if (answerSessionTimer(request.headers, core.minSessionExpiresS).kind === 'too_small') {
    core.refuse(transaction, 422, now, [['Min-SE', String(core.minSessionExpiresS)]])
    return
  }
  const session = newSession(core, { role: 'uas', callId: request.callId, user: userOf(request), credentials: null })
  session.dialog = dialogOfRequest(request, session.localTag, peer)
  if (session.dialog === null) {
    core.refuse(transaction, 400, now)
    return
  }
  session.incoming = transaction
  core.add(session)
  core.byInvite.set(transaction, session)
  core.respond(transaction, { status: 100 }, now)
  core.emit({
    kind: 'incoming',
    sessionId: session.id,
    requestUri: toText(request.uri),
    from: party(request.from),
    to: party(request.to),
    callId: toText(request.callId),
    header: headerReader(request.headers),
    offer: bodyOf(request),
    peer,
  })
}

function userOf(request: SipRequest): string {
  const uri = parseUri(request.uri)
  return 'error' in uri || uri.scheme === 'other' || uri.scheme === 'tel' ? '' : (uri.user ?? '')
}

/** Record-Route is copied into everything that makes a dialog (RFC 3261 §12.1.1). */
const recordRoute = (request: SipRequest): HeaderFields =>
  request.headers.all('record-route').map(value => ['Record-Route', value] as const)

export function sendProvisional(
  core: AgentCore,
  session: Session,
  status: number,
  body: Body | null,
  now: number,
): void {
  const transaction = session.incoming
  if (transaction === null || status <= 100 || status > 199) return
  const contact = core.contact(session.dialog!.peer.transport, session.user)
  const headers: HeaderFields = [...recordRoute(transaction.request), ['Contact', contact]]
  core.respond(transaction, { status, toTag: session.localTag, headers, body }, now)
  repeatProvisional(core, session, transaction, now)
}

function repeatProvisional(core: AgentCore, session: Session, transaction: ServerTransaction, now: number): void {
  core.deadlines.cancel(session.provisionalAt)
  session.provisionalAt = core.deadlines.set(now + PROVISIONAL_REPEAT_MS, at => {
    if (session.incoming === null || transaction.last === null) return
    core.counters.retransmissionsSent++
    core.send(transaction.last, transaction.replyTo)
    repeatProvisional(core, session, transaction, at)
  })
}

/** 200 to the INVITE (RFC 3261 §13.3.1.4). */
export function acceptCall(core: AgentCore, session: Session, body: Body, now: number): void {
  const transaction = session.incoming
  if (transaction === null) return
  const { request } = transaction
  session.incoming = null
  session.phase = 'answered'
  session.localDescription = body
  core.deadlines.cancel(session.provisionalAt)
  const timer = answerSessionTimer(request.headers, core.minSessionExpiresS)
  const headers = [...recordRoute(request), ...successHeaders(core, session, timer)]
  const confirmed = (ack: SipRequest): void =>
    core.emit({ kind: 'confirmed', sessionId: session.id, body: bodyOf(ack) })
  sendSuccess(core, session, transaction, { status: 200, toTag: session.localTag, headers, body }, confirmed, now)
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
  } else if (session.incoming === invite) {
    finish(core, session, ended(session, 'remote', 'cancel', cancel.headers.get('reason')), now)
    core.forget(session)
  }
}
