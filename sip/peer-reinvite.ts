import { type AgentCore, ALLOW, bodyOf, type Session, SUPPORTED } from './agent-core.ts'
import type { Body, HeaderFields } from './agent-types.ts'
import { type Dialog, type EarlyDialog, refreshTarget } from './dialog.ts'
import { noteAllow, noteMinSe, runSessionTimer, timerFor } from './own-reinvite.ts'
import { isAgreedEarly } from './reliable-provisional.ts'
import type { TimerAnswer } from './session-timer.ts'
import { acknowledgedByChange, sendSuccess } from './success-response.ts'
import type { ServerTransaction } from './transaction/transactions.ts'

/** A re-INVITE or UPDATE in a dialog (RFC 3261 §14.2, RFC 3311 §5.2). Its CSeq and content have been checked. */
export function onReinvite(core: AgentCore, session: Session, transaction: ServerTransaction, now: number): void {
  const { request } = transaction
  const offer = bodyOf(request)
  if (request.method === 'INVITE') acknowledgedByChange(core, session, now)
  const isBare = request.method === 'UPDATE' && offer === null
  const collision = isBare ? bareCollision(session) : offerCollision(session, request.method)
  if (collision === 'theirs') {
    tooEarly(core, transaction, now)
    return
  }
  if (collision === 'ours') {
    core.respond(transaction, { status: 491 }, now)
    return
  }
  const timer = timerFor(core, request.headers)
  if (timer.kind === 'too_small') {
    core.respond(transaction, { status: 422, headers: [['Min-SE', String(core.minSessionExpiresS)]] }, now)
    return
  }
  noteAllow(session, request.headers)
  noteMinSe(session, request.headers)
  if (isBare) {
    onBareUpdate(core, session, transaction, timer, now)
    return
  }
  if (request.method === 'INVITE') core.respond(transaction, { status: 100 }, now)
  session.peerReinvite = transaction
  core.byInvite.set(transaction, session)
  core.emit({ kind: 'reinvite', sessionId: session.id, offer, peer: core.sender ?? session.dialog!.peer })
}

/** The request with which a new offer collides (RFC 3261 §14.2, RFC 3311 §5.2): an earlier one of theirs, or one of ours. */
function offerCollision(session: Session, method: string): 'theirs' | 'ours' | null {
  const isInviting = session.phase === 'inviting' && (method === 'INVITE' || !isAgreedEarly(session))
  if (session.peerReinvite !== null || isInviting) return 'theirs'
  const isOffering = session.ownReinvite !== null && session.ownReinvite.retry === null
  return isOffering || session.awaitedAck !== null || session.acknowledge !== null ? 'ours' : null
}

/**
 * A request of the called party before its answer. An UPDATE may contain another offer once ours was answered reliably (RFC 3311 §5.1); BYE
 * and REFER are refused (RFC 3261 §15).
 */
export function onEarlyRequest(
  core: AgentCore,
  session: Session,
  early: EarlyDialog,
  transaction: ServerTransaction,
  now: number,
): void {
  const { request } = transaction
  const offer = bodyOf(request)
  // Our own INVITE is pending (RFC 3261 §14.2). A 481 would end the dialog.
  if (request.method === 'INVITE') core.respond(transaction, { status: 491 }, now)
  else if (request.method !== 'UPDATE') core.respond(transaction, { status: 481 }, now)
  else if (offer === null) {
    refreshTarget(early.dialog, request.headers)
    core.respond(transaction, { status: 200, headers: successHeaders(core, session, early.dialog, NO_TIMER) }, now)
  } else if (session.peerReinvite !== null || session.acknowledgeEarly !== null) tooEarly(core, transaction, now)
  else if (early.description === null) core.respond(transaction, { status: 491 }, now)
  else {
    session.peerReinvite = transaction
    session.earlyUpdate = early
    core.emit({ kind: 'reinvite', sessionId: session.id, offer, peer: core.sender ?? early.dialog.peer })
  }
}

/** An earlier request of theirs is still open (RFC 3261 §14.2, RFC 3311 §5.2). */
function tooEarly(core: AgentCore, transaction: ServerTransaction, now: number): void {
  const waitS = Math.floor(core.fraction() * 11)
  core.respond(transaction, { status: 500, headers: [['Retry-After', String(waitS)]] }, now)
}

const NO_TIMER: TimerAnswer = { kind: 'none' }

/** An UPDATE without an offer collides only with another UPDATE. */
const bareCollision = ({ peerReinvite }: Session): 'theirs' | null =>
  peerReinvite?.request.method === 'UPDATE' ? 'theirs' : null

/** It updates the far end's address, and refreshes the session if there is a timer. */
function onBareUpdate(
  core: AgentCore,
  session: Session,
  transaction: ServerTransaction,
  timer: TimerAnswer,
  now: number,
): void {
  const agreed = session.phase === 'inviting' ? NO_TIMER : timer
  if (session.phase === 'inviting') refreshTarget(session.dialog!, transaction.request.headers)
  else agree(core, session, transaction, agreed, now)
  core.respond(transaction, { status: 200, headers: successHeaders(core, session, session.dialog!, agreed) }, now)
}

function agree(
  core: AgentCore,
  session: Session,
  transaction: ServerTransaction,
  timer: TimerAnswer,
  now: number,
): void {
  refreshTarget(session.dialog!, transaction.request.headers)
  runSessionTimer(core, session, timer.kind === 'agreed' ? timer.timer : null, now)
}

/** The headers of a 2xx that makes or renews a session. */
export function successHeaders(
  core: AgentCore,
  { user }: Pick<Session, 'user'>,
  dialog: Pick<Dialog, 'peer' | 'isSips'>,
  timer: TimerAnswer,
): HeaderFields {
  const agreed = timer.kind === 'agreed' ? timer.headers : []
  const contact = core.contactIn(dialog, user)
  return [['Contact', contact], ['Allow', ALLOW], ['Supported', SUPPORTED], ...agreed]
}

/** 200 to the re-INVITE or UPDATE that waits for an answer, if there is one. */
export function acceptReinvite(core: AgentCore, session: Session, body: Body, now: number): void {
  const transaction = session.peerReinvite
  if (transaction === null) return
  session.peerReinvite = null
  session.localDescription = body
  if (session.ownReinvite !== null) session.ownReinvite.before = body
  const early = session.earlyUpdate
  session.earlyUpdate = null
  if (early !== null) {
    early.isUpdated = true
    refreshTarget(early.dialog, transaction.request.headers)
    const headers = successHeaders(core, session, early.dialog, NO_TIMER)
    core.respond(transaction, { status: 200, headers, body }, now)
    return
  }
  const timer = session.phase === 'inviting' ? NO_TIMER : timerFor(core, transaction.request.headers)
  const parts = { status: 200, headers: successHeaders(core, session, session.dialog!, timer), body }
  agree(core, session, transaction, timer, now)
  if (transaction.request.method === 'UPDATE') {
    core.respond(transaction, parts, now)
    return
  }
  const confirmed = (answer: Body | null): void =>
    core.emit({ kind: 'reinviteConfirmed', sessionId: session.id, body: answer })
  sendSuccess(core, session, transaction, parts, confirmed, now)
}

/** Refuses the waiting re-INVITE or UPDATE; the session stays unchanged (RFC 3261 §14.2). */
export function rejectReinvite(
  core: AgentCore,
  session: Session,
  parts: { status: number; headers: HeaderFields },
  now: number,
): void {
  const transaction = session.peerReinvite
  if (transaction === null || parts.status < 300 || parts.status > 699) return
  session.peerReinvite = null
  session.earlyUpdate = null
  core.respond(transaction, parts, now)
}
