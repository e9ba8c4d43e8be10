import { type AgentCore, ALLOW, bodyOf, type OwnReinvite, type Session, SUPPORTED } from './agent-core.ts'
import type { Body, HeaderFields } from './agent-types.ts'
import { refreshTarget } from './dialog.ts'
import { ended, endOnFailure, finish, hangUp, TIMER_EXPIRED } from './ending.ts'
import { repeatAck, type SuccessAck, sendInDialog, sendSuccessAck } from './in-dialog-request.ts'
import type { OutgoingRequest } from './message/format.ts'
import { parseDeltaSeconds } from './message/headers.ts'
import type { Headers, SipResponse } from './message/message.ts'
import {
  agreedSessionTimer,
  answerSessionTimer,
  askSessionTimer,
  expireAfterMs,
  minSe,
  refreshAfterMs,
  type SessionTimer,
  type TimerAnswer,
} from './session-timer.ts'

const MAX_ATTEMPTS = 8
const ANSWER_LIMIT_MS = 180_000
/** Maximum Retry-After of a 500 that is accepted, and minimum wait [ms]. */
const MAX_RETRY_MS = 30_000
const MIN_RETRY_MS = 200
/** Minimum interval between attempts of a refresh that could not be sent, or was refused [ms]. */
const MIN_REFRESH_GAP_MS = 1000
/** It does not accept UPDATE, or has to ask its user first: a re-INVITE can wait for the user (RFC 3311 §5.2, §5.3). */
const UPDATE_REFUSED: ReadonlySet<number> = new Set([405, 501, 504])

/** Whether the far end takes UPDATE, as its last Allow says. */
export function noteAllow(session: Session, headers: Headers): void {
  if (headers.get('allow') === null || session.allowsUpdate === 'never') return
  session.allowsUpdate = headers.hasToken('allow', 'update')
}

/** The largest Min-SE of a dialog applies to all of it (RFC 4028 §7.4). */
export function noteMinSe(session: Session, headers: Headers): void {
  session.minSeS = Math.max(session.minSeS, minSe(headers))
}

/** The timer headers of a request that creates or refreshes a session, and of our 2xx. */
export const timerFor = (core: AgentCore, request: Headers): TimerAnswer =>
  answerSessionTimer(request, core.minSessionExpiresS, core.options.sessionExpiresS ?? null)

/**
 * Starts the session timer (RFC 4028 §7.2, §9): refreshes if that is our role, hangs up if no refresh arrives. Without an agreed one we
 * refresh for ourselves: a far end that holds sends no audio that would be missed when it dies.
 */
export function runSessionTimer(core: AgentCore, session: Session, agreed: SessionTimer | null, now: number): void {
  const { deadlines } = core
  const timer = agreed ?? ownTimer(core, session)
  deadlines.cancel(session.refreshAt)
  deadlines.cancel(session.expireAt)
  session.timer = timer
  session.isTimerAgreed = agreed !== null
  if (timer === null || session.phase === 'over') return
  session.expireAt = deadlines.set(now + expireAfterMs(timer), at => {
    finish(core, session, ended(session, 'local', 'session_expired'), at)
    if (session.awaitedAck === null) hangUp(core, session, TIMER_EXPIRED, at)
    else session.pendingBye = TIMER_EXPIRED
  })
  if (timer.weRefresh) refreshAt(core, session, now + refreshAfterMs(timer))
}

function ownTimer({ options }: AgentCore, { phase, minSeS }: Session): SessionTimer | null {
  const { sessionExpiresS } = options
  if (sessionExpiresS === undefined || phase === 'inviting') return null
  return { intervalS: Math.max(sessionExpiresS, minSeS), weRefresh: true }
}

function refreshAt(core: AgentCore, session: Session, atMs: number): void {
  session.refreshAt = core.deadlines.set(atMs, at => {
    if (!sendReinvite(core, session, session.localDescription, true, at)) refreshAgain(core, session, at)
  })
}

/** Half of the remaining time, while there is some: then the session expires. */
function refreshAgain(core: AgentCore, session: Session, now: number): void {
  const leftMs = (session.expireAt?.atMs ?? now) - now
  core.deadlines.cancel(session.refreshAt)
  if (session.timer?.weRefresh === true && leftMs > MIN_REFRESH_GAP_MS) {
    refreshAt(core, session, now + Math.max(MIN_REFRESH_GAP_MS, leftMs / 2))
  }
}

/**
 * Changes or refreshes the session: by UPDATE if the far end allows it, and then a refresh has no description; by re-INVITE
 * otherwise, and if the far end is to offer. False if the session cannot take one now (RFC 3261 §14.1, RFC 3311 §5.1).
 */
export function sendReinvite(
  core: AgentCore,
  session: Session,
  body: Body | null,
  refresh: boolean,
  now: number,
  takesTime = false,
): boolean {
  const busy = session.ownReinvite !== null || session.peerReinvite !== null || session.acknowledge !== null
  if (session.phase !== 'confirmed' || session.dialog === null || busy || session.awaitedAck !== null) return false
  const isQuick = refresh || (body !== null && !takesTime)
  const method = session.allowsUpdate === true && isQuick ? 'UPDATE' : 'INVITE'
  const before = session.localDescription
  const own: OwnReinvite = { method, body, refresh, before, attempts: 0, retry: null, transaction: null }
  session.ownReinvite = own
  if (body !== null) session.localDescription = body
  attempt(core, session, own, now)
  return true
}

/** Cancels a change that waits for its next attempt, because its description is out of date. */
export function withdrawReinvite(core: AgentCore, session: Session): void {
  const own = session.ownReinvite
  if (own === null || own.retry === null || own.refresh) return
  core.deadlines.cancel(own.retry)
  session.ownReinvite = null
}

function attempt(core: AgentCore, session: Session, own: OwnReinvite, now: number): void {
  own.attempts++
  own.retry = null
  const user = new Answers(core, session, own)
  const { method } = own
  const body = own.refresh && method === 'UPDATE' ? null : own.body
  const request = { method, headers: reinviteHeaders(core, session), body }
  sendInDialog(core, session, session.dialog!, request, user, now, (sent, transaction) => {
    user.request = sent
    own.transaction = transaction
  })
  if (method === 'INVITE') limitAnswer(core, session, own, now)
}

/** The response to one attempt. */
class Answers {
  request!: OutgoingRequest
  readonly #core: AgentCore
  readonly #session: Session
  readonly #own: OwnReinvite
  #ack: SuccessAck | null = null
  #isAnswered = false

  constructor(core: AgentCore, session: Session, own: OwnReinvite) {
    this.#core = core
    this.#session = session
    this.#own = own
  }

  response(response: SipResponse, now: number): void {
    const { status } = response
    if (status >= 300) failed(this.#core, this.#session, this.#own, response, status, now)
    else if (status >= 200) this.#success(response, now)
  }

  failed(cause: 'timeout' | 'unreachable', now: number): void {
    failed(this.#core, this.#session, this.#own, null, cause === 'timeout' ? 408 : 503, now)
  }

  #success(response: SipResponse, now: number): void {
    const [core, session, own] = [this.#core, this.#session, this.#own]
    if (this.#ack !== null) repeatAck(this.#ack)
    if (this.#isAnswered) return
    this.#isAnswered = true
    session.ownReinvite = null
    refreshTarget(session.dialog!, response.headers)
    noteAllow(session, response.headers)
    if (own.method === 'INVITE') this.#acknowledge(now)
    if (session.phase === 'over') return
    runSessionTimer(core, session, agreedSessionTimer(response.headers), now)
    // An UPDATE that only refreshes has offered nothing.
    const body = own.refresh && own.method === 'UPDATE' ? null : bodyOf(response)
    core.emit({ kind: 'reinviteAnswered', sessionId: session.id, body, refresh: own.refresh })
  }

  #acknowledge(now: number): void {
    const [core, session] = [this.#core, this.#session]
    const acknowledge = (answer: Body | null, at: number): void => {
      session.acknowledge = null
      if (answer !== null) session.localDescription = answer
      this.#ack = sendSuccessAck(core, session.dialog!, this.request, answer, at)
    }
    if (this.#own.body !== null || session.phase === 'over') acknowledge(null, now)
    else session.acknowledge = acknowledge
  }
}

/** A provisional response stops timer B; after this time no answer is expected any more, as in a proxy (RFC 3261 §16.6, timer C). */
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
  const contact = core.contactIn(session.dialog!, session.user)
  const { timer, minSeS } = session
  const ask = timer === null ? [] : askSessionTimer(timer.intervalS, minSeS, timer.weRefresh ? 'uac' : 'uas')
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
  if (own.attempts < MAX_ATTEMPTS && isTriedAgain(core, session, own, response, now)) return
  session.ownReinvite = null
  session.localDescription = own.before
  // A refresh checks whether the session still exists (RFC 4028 §10).
  if (endOnFailure(core, session, status, now, own.refresh ? 'session_expired' : 'timeout')) return
  if (own.refresh && response !== null && !session.isTimerAgreed) runSessionTimer(core, session, null, now)
  else if (own.refresh) refreshAgain(core, session, now)
  else core.emit({ kind: 'reinviteRejected', sessionId: session.id, status })
}

function isTriedAgain(
  core: AgentCore,
  session: Session,
  own: OwnReinvite,
  response: SipResponse | null,
  now: number,
): boolean {
  if (response === null) return false
  const { status, headers } = response
  if (own.method === 'UPDATE' && UPDATE_REFUSED.has(status)) {
    if (status !== 504) session.allowsUpdate = 'never'
    own.method = 'INVITE'
    attempt(core, session, own, now)
    return true
  }
  if (status === 422 && session.timer !== null) {
    noteMinSe(session, headers)
    attempt(core, session, own, now)
    return true
  }
  const waitMs = status === 491 ? glareWaitMs(core, session) : status === 500 ? retryAfterMs(headers) : null
  if (waitMs === null) return false
  own.retry = core.deadlines.set(now + waitMs, at => retry(core, session, own, at))
  return true
}

/** For a 500: another request was pending there (RFC 3261 §14.2, RFC 3311 §5.2) [ms]. */
function retryAfterMs(headers: Headers): number | null {
  const seconds = parseDeltaSeconds(headers.get('retry-after') ?? '')
  return seconds === null ? null : Math.min(Math.max(seconds * 1000, MIN_RETRY_MS), MAX_RETRY_MS)
}

function retry(core: AgentCore, session: Session, own: OwnReinvite, now: number): void {
  if (session.peerReinvite === null && session.awaitedAck === null) attempt(core, session, own, now)
  else own.retry = core.deadlines.set(now + glareWaitMs(core, session), at => retry(core, session, own, at))
}

/** In steps of 10 ms: 2.1 to 4 s for the side that created the Call-ID, 0 to 2 s for the other (RFC 3261 §14.1). */
function glareWaitMs(core: AgentCore, session: Session): number {
  const steps = core.fraction()
  return session.role === 'uac' ? 2100 + 10 * Math.floor(steps * 191) : 10 * Math.floor(steps * 201)
}
