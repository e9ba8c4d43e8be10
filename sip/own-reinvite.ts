import { type AgentCore, ALLOW, bodyOf, type OwnReinvite, type Session, SUPPORTED } from './agent-core.ts'
import type { Body, HeaderFields } from './agent-types.ts'
import { refreshTarget } from './dialog.ts'
import { ended, endOnFailure, finish, hangUp } from './ending.ts'
import { sendInDialog, successAck } from './in-dialog-request.ts'
import type { OutgoingRequest } from './message/format.ts'
import type { SipResponse } from './message/message.ts'
import {
  agreedSessionTimer,
  askSessionTimer,
  expireAfterMs,
  minSe,
  refreshAfterMs,
  type SessionTimer,
} from './session-timer.ts'

const MAX_ATTEMPTS = 8
const ANSWER_LIMIT_MS = 180_000

/** Runs the session timer from now on, or none (RFC 4028 §7.2, §9): refreshes when it is on us, hangs up when all is silent. */
export function runSessionTimer(core: AgentCore, session: Session, timer: SessionTimer | null, now: number): void {
  const { deadlines } = core
  deadlines.cancel(session.refreshAt)
  deadlines.cancel(session.expireAt)
  session.timer = timer
  if (timer === null || session.phase === 'over') return
  session.expireAt = deadlines.set(now + expireAfterMs(timer), at => {
    finish(core, session, ended(session, 'local', 'session_expired'), at)
    if (session.awaitedAck === null) hangUp(core, session, [], at)
    else session.pendingBye = []
  })
  if (timer.weRefresh) {
    session.refreshAt = deadlines.set(now + refreshAfterMs(timer), at => {
      sendReinvite(core, session, session.localDescription, true, at)
    })
  }
}

/** Sends a re-INVITE; false when the session cannot take one now (RFC 3261 §14.1). */
export function sendReinvite(
  core: AgentCore,
  session: Session,
  body: Body | null,
  refresh: boolean,
  now: number,
): boolean {
  const busy = session.ownReinvite !== null || session.peerReinvite !== null || session.acknowledge !== null
  if (session.phase !== 'confirmed' || session.dialog === null || busy || session.awaitedAck !== null) return false
  const own: OwnReinvite = { body, refresh, attempts: 0, retry: null, transaction: null }
  session.ownReinvite = own
  if (body !== null) session.localDescription = body
  attempt(core, session, own, now)
  return true
}

function attempt(core: AgentCore, session: Session, own: OwnReinvite, now: number): void {
  const dialog = session.dialog!
  own.attempts++
  own.retry = null
  let invite: OutgoingRequest | null = null
  // The bytes of the ACK once it went out, for every 2xx that comes again.
  let ack: ReturnType<typeof successAck> | null = null
  let answered = false
  const acknowledge = (answer: Body | null): void => {
    session.acknowledge = null
    if (answer !== null) session.localDescription = answer
    ack = successAck(core, dialog, invite!, answer)
    core.send(ack.bytes, ack.to)
  }
  const success = (response: SipResponse, at: number): void => {
    if (ack !== null) core.send(ack.bytes, ack.to)
    if (answered) return
    answered = true
    session.ownReinvite = null
    refreshTarget(dialog, response.headers)
    if (own.body !== null || session.phase === 'over') acknowledge(null)
    else session.acknowledge = acknowledge
    if (session.phase === 'over') return
    runSessionTimer(core, session, agreedSessionTimer(response.headers), at)
    const body = bodyOf(response)
    core.emit({ kind: 'reinviteAnswered', sessionId: session.id, body, refresh: own.refresh })
  }
  const user = {
    response: (response: SipResponse, at: number): void => {
      if (response.status < 200) return
      if (response.status < 300) success(response, at)
      else failed(core, session, own, response, response.status, at)
    },
    failed: (cause: 'timeout' | 'unreachable', at: number): void => {
      failed(core, session, own, null, cause === 'timeout' ? 408 : 503, at)
    },
  }
  const request = { method: 'INVITE', headers: reinviteHeaders(core, session), body: own.body }
  sendInDialog(core, session, dialog, request, user, now, (sent, transaction) => {
    invite = sent
    own.transaction = transaction
  })
  limitAnswer(core, session, own, now)
}

/** A provisional response stops timer B; after this nobody answers any more, as for a proxy (RFC 3261 §16.6, timer C). */
function limitAnswer(core: AgentCore, session: Session, own: OwnReinvite, now: number): void {
  const attempts = own.attempts
  core.deadlines.set(now + ANSWER_LIMIT_MS, at => {
    const { transaction } = own
    if (session.ownReinvite !== own || own.attempts !== attempts || transaction?.state !== 'proceeding') return
    core.transactions.abandon(transaction)
    failed(core, session, own, null, 408, at)
  })
}

function reinviteHeaders(core: AgentCore, session: Session): HeaderFields {
  const contact = core.contact(session.dialog!.peer.transport, session.user)
  const { timer } = session
  const ask = timer === null ? [] : askSessionTimer(timer.intervalS, 0, timer.weRefresh ? 'uac' : 'uas')
  return [['Contact', contact], ['Allow', ALLOW], ['Supported', SUPPORTED], ...ask]
}

function failed(
  core: AgentCore,
  session: Session,
  own: OwnReinvite,
  response: SipResponse | null,
  status: number,
  now: number,
): void {
  if (session.phase === 'over') return
  if (status === 491 && own.attempts < MAX_ATTEMPTS) {
    own.retry = core.deadlines.set(now + glareWaitMs(core, session), at => retry(core, session, own, at))
    return
  }
  if (status === 422 && response !== null && session.timer !== null && own.attempts < MAX_ATTEMPTS) {
    session.timer = { ...session.timer, intervalS: Math.max(session.timer.intervalS, minSe(response.headers)) }
    attempt(core, session, own, now)
    return
  }
  session.ownReinvite = null
  if (endOnFailure(core, session, status, now) || own.refresh) return
  core.emit({ kind: 'reinviteRejected', sessionId: session.id, status })
}

function retry(core: AgentCore, session: Session, own: OwnReinvite, now: number): void {
  if (session.peerReinvite === null && session.awaitedAck === null) attempt(core, session, own, now)
  else own.retry = core.deadlines.set(now + glareWaitMs(core, session), at => retry(core, session, own, at))
}

/** In steps of 10 ms: 2.1 to 4 s for whoever made the Call-ID, 0 to 2 s for the other (RFC 3261 §14.1). */
function glareWaitMs(core: AgentCore, session: Session): number {
  const steps = core.fraction()
  return session.role === 'uac' ? 2100 + 10 * Math.floor(steps * 191) : 10 * Math.floor(steps * 201)
}
