import {
  type AgentCore,
  ALLOW,
  bodyOf,
  headerReader,
  newSession,
  type OutgoingCall,
  type Session,
  SUPPORTED,
} from './agent-core.ts'
import type { HeaderFields, InviteRequest, Peer } from './agent-types.ts'
import { credentialsAgain, credentialsFor } from './auth/credentials.ts'
import { destinationOfUri } from './destination.ts'
import { asksForSips, type Dialog, dialogOfResponse, type EarlyDialog, refreshTarget } from './dialog.ts'
import { agreedBy, confirm, takeProvisional } from './early-dialog.ts'
import { ended, finish, sayBye, TIMER_EXPIRED } from './ending.ts'
import { readRedirects } from './identity/redirects.ts'
import { repeatAck, type SuccessAck, sendSuccessAck } from './in-dialog-request.ts'
import { sendLocated } from './located-request.ts'
import { earlyMediaOf } from './message/early-media.ts'
import { credentialsOf, type OutgoingRequest, ownFields, reasonOf, safeValue, wireUri } from './message/format.ts'
import { parseDeltaSeconds, parseNameAddr } from './message/headers.ts'
import { Headers, type SipResponse, toText } from './message/message.ts'
import { paramValue, quote } from './message/params.ts'
import { ELSEWHERE, parseReasons, q850, reasonFields } from './message/reason.ts'
import { parseUri, withoutHeaders } from './message/uri.ts'
import { noteAllow, runSessionTimer } from './own-reinvite.ts'
import { agreedSessionTimer, askSessionTimer, minSe } from './session-timer.ts'
import type { ClientTransaction, ClientUser } from './transaction/transactions.ts'

/** Maximum number of dialogs of one INVITE that are distinguished. */
const MAX_FORKS = 20
/** How often one INVITE is sent at most, changed as the far end and the proxies on the way want it. */
const MAX_ATTEMPTS = 10

/** Starts a call (RFC 3261 §13.2). If it cannot be sent at all, it is `rejected` at once. */
export function startCall(core: AgentCore, request: InviteRequest, now: number): Session {
  const from = parseUri(wireUri(request.from))
  const user = 'error' in from || from.scheme === 'other' || from.scheme === 'tel' ? '' : (from.user ?? '')
  const session = newSession(core, {
    role: 'uac',
    callId: core.options.random(),
    user,
    credentials: request.credentials ?? null,
  })
  const call: OutgoingCall = {
    request,
    transaction: null,
    invite: null,
    provisionalSeen: false,
    cancelHeaders: null,
    givenUpWith: null,
    earlyTags: new Set(),
    early: new Map(),
    authenticated: 0,
  }
  session.outgoing = call
  session.localDescription = request.body ?? null
  core.add(session)
  const to = parseUri(wireUri(request.to))
  if ('error' in from || 'error' in to) rejectLocally(core, session, 400, now)
  else if ((request.target ?? destinationOfUri(request.to)) === null) rejectLocally(core, session, 416, now)
  else if (core.transactions.isFull('known')) {
    core.counters.transactionsRefused++
    rejectLocally(core, session, 503, now)
  } else attempt(core, session, call, 1, [], now)
  return session
}

function rejectLocally(core: AgentCore, session: Session, status: number, now: number): void {
  finish(
    core,
    session,
    {
      kind: 'rejected',
      sessionId: session.id,
      status,
      reason: reasonOf(status),
      retryAfterS: null,
      origin: 'local',
      contacts: [],
      redirects: [],
      reasons: [],
      header: headerReader(new Headers()),
    },
    now,
  )
  core.forget(session)
}

function attempt(
  core: AgentCore,
  session: Session,
  call: OutgoingCall,
  cseq: number,
  authorization: HeaderFields,
  now: number,
): void {
  const { request } = call
  const { sessionExpiresS } = core.options
  const hop = request.target ?? destinationOfUri(request.to)!
  const target = request.publicOnly === true ? { ...hop, publicOnly: true } : hop
  const display = request.displayName === undefined ? '' : `${quote(safeValue(request.displayName))} `
  const route = (request.route ?? []).map(safeValue)
  const make = (to: Peer, branch: string): OutgoingRequest => ({
    method: 'INVITE',
    uri: wireUri(request.to),
    via: core.via(to, branch),
    route,
    from: `${display}<${wireUri(request.from)}>;tag=${session.localTag}`,
    to: `<${wireUri(request.to)}>`,
    callId: session.callId,
    cseq,
    ...(request.maxForwards === undefined ? {} : { maxForwards: request.maxForwards }),
    headers: [
      ['Contact', core.contact(to, session.user, asksForSips(request.to, route, to))],
      ['Allow', ALLOW],
      ['Supported', request.withoutReliable === true ? SUPPORTED.replace(', 100rel', '') : SUPPORTED],
      ...(sessionExpiresS === undefined ? [] : askSessionTimer(sessionExpiresS, session.minSeS, null)),
      ...authorization,
      ...ownFields(request.headers ?? []),
      ['User-Agent', core.options.name],
    ],
    body: request.body ?? null,
  })
  let on: Attempt
  const sent = (invite: OutgoingRequest, transaction: ClientTransaction): void => {
    on = { core, session, call, invite, legs: new Map(), early: new Map() }
    call.early = on.early
    call.invite = invite
    call.transaction = transaction
  }
  const user: ClientUser = {
    response: (response, at) => onResponse(on, response, at),
    failed: (cause, at) => {
      if (session.phase === 'over') core.forget(session)
      else rejectLocally(core, session, cause === 'timeout' ? 408 : 503, at)
    },
    moved: at => {
      if (session.phase !== 'over') core.transactions.repeat(call.transaction!)
      else if (call.cancelHeaders !== null) sendCancel(core, session, call, call.cancelHeaders, at)
    },
  }
  sendLocated(core, { target, make, isWanted: () => isWanted(core, session), sent }, user, now)
  if (request.patienceMs !== undefined) limitSilence(core, session, call, request.patienceMs, now)
}

/** From now on a far end that has not said a word is waited for this long only. */
export function hurry(core: AgentCore, session: Session, patienceMs: number, now: number): void {
  const call = session.outgoing
  if (call !== null) limitSilence(core, session, call, patienceMs, now)
}

/** Not even a 100 in time: 408. A late response is cancelled, or acknowledged and hung up. */
function limitSilence(core: AgentCore, session: Session, call: OutgoingCall, patienceMs: number, now: number): void {
  const { transaction } = call
  core.deadlines.set(now + patienceMs, at => {
    if (call.transaction !== transaction || call.provisionalSeen || session.phase !== 'inviting') return
    call.cancelHeaders = TIMER_EXPIRED
    if (transaction !== null) core.transactions.stopRepeating(transaction)
    rejectLocally(core, session, 408, at)
  })
}

/** A call given up before anything was sent has nothing to wait for. */
function isWanted(core: AgentCore, session: Session): boolean {
  if (session.phase !== 'over') return true
  core.forget(session)
  return false
}

/** One dialog of a forked call: its ACK is repeated for every retransmitted 2xx. */
interface Leg {
  ack: SuccessAck | null
}

/** A pending INVITE. */
interface Attempt {
  core: AgentCore
  session: Session
  call: OutgoingCall
  legs: Map<string | null, Leg>
  /** By their tag. */
  early: Map<string, EarlyDialog>
  invite: OutgoingRequest
}

function onResponse(on: Attempt, response: SipResponse, now: number): void {
  const { status } = response
  if (status < 200) onProvisional(on, response, now)
  else if (status < 300) onSuccess(on, response, now)
  else onFailure(on, response, now)
}

function onProvisional(on: Attempt, response: SipResponse, now: number): void {
  const { core, session, call } = on
  call.provisionalSeen = true
  if (session.phase === 'over') {
    if (call.cancelHeaders !== null) sendCancel(core, session, call, call.cancelHeaders, now)
    return
  }
  const { status, to } = response
  if (status === 100) return
  const transaction = call.transaction!
  const taken = takeProvisional({ ...on, transaction }, on.early, response, now)
  if (taken.kind === 'ignored') return
  if (to.tag !== null && call.earlyTags.size < MAX_FORKS) call.earlyTags.add(to.tag)
  const acknowledge = taken.kind === 'reliable' ? taken.acknowledge : null
  if (acknowledge !== null) {
    session.acknowledgeEarly = (answer, at) => {
      session.acknowledgeEarly = null
      if (answer !== null) session.localDescription = answer
      acknowledge(answer, at)
    }
  }
  core.emit({
    kind: 'provisional',
    sessionId: session.id,
    status,
    body: bodyOf(response),
    isOffer: acknowledge !== null,
    tag: to.tag,
    earlyMedia: earlyMediaOf(response.headers),
    peer: core.sender ?? transaction.to,
  })
}

function onSuccess(
  { core, session, call, legs, invite, early: dialogs }: Attempt,
  response: SipResponse,
  now: number,
): void {
  const known = legs.get(response.to.tag)
  if (known !== undefined) {
    if (known.ack !== null) repeatAck(known.ack)
    return
  }
  // An ACK and a BYE for each would let one far end send what it likes, to the host of its Contact, through us.
  if (legs.size >= MAX_FORKS) return
  const leg: Leg = { ack: null }
  legs.set(response.to.tag, leg)
  const early = dialogs.get(response.to.tag ?? '')
  const { to } = call.transaction!
  const dialog = confirm(dialogOfResponse(invite, session.localTag, response, to, core.sender), early)
  const acknowledge = (body: OutgoingRequest['body'], at: number): void => {
    leg.ack = sendSuccessAck(core, dialog, invite, body, at)
  }
  if (session.dialog !== null || session.phase === 'over') {
    refuseLeg(core, session, dialog, acknowledge, now)
    return
  }
  session.dialog = dialog
  session.phase = 'confirmed'
  refreshTarget(dialog, response.headers)
  noteAllow(session, response.headers)
  if (invite.body !== null || early?.description != null) acknowledge(null, now)
  else {
    session.acknowledge = (answer, at) => {
      session.acknowledge = null
      if (answer !== null) session.localDescription = answer
      acknowledge(answer, at)
    }
  }
  runSessionTimer(core, session, agreedSessionTimer(response.headers), now)
  const header = headerReader(response.headers)
  core.emit({
    kind: 'answered',
    sessionId: session.id,
    body: agreedBy(response, early, invite.body !== null),
    header,
    peer: core.sender ?? dialog.peer,
  })
}

/** For forks that answer after the first one. */
const ANSWERED_ELSEWHERE = reasonFields([ELSEWHERE, q850(26)])

/** A second fork answered, or the call was given up while its answer was on the way: ACK, then BYE (RFC 3261 §13.2.2.4). */
function refuseLeg(
  core: AgentCore,
  session: Session,
  dialog: Dialog,
  acknowledge: (body: null, now: number) => void,
  now: number,
): void {
  acknowledge(null, now)
  const headers = session.dialog === null ? (session.outgoing?.givenUpWith ?? TIMER_EXPIRED) : ANSWERED_ELSEWHERE
  sayBye(core, session, dialog, headers, now, () => {
    if (session.phase === 'over' && session.dialog === null) core.forget(session)
  })
}

function onFailure(on: Attempt, response: SipResponse, now: number): void {
  const { core, session } = on
  if (session.phase === 'over') {
    core.forget(session)
    return
  }
  if (retry(on, response, now)) return
  const after = response.headers.get('retry-after')
  finish(
    core,
    session,
    {
      kind: 'rejected',
      sessionId: session.id,
      status: response.status,
      reason: toText(response.reason),
      retryAfterS: after === null ? null : parseDeltaSeconds(after),
      origin: 'remote',
      contacts: response.status < 400 ? contactsOf(response) : [],
      redirects: response.status < 400 ? readRedirects(response.headers) : [],
      reasons: parseReasons(response.headers),
      header: headerReader(response.headers),
    },
    now,
  )
  core.forget(session)
}

/** The targets of a 3xx, by `q` (RFC 3261 §8.1.3.4). */
function contactsOf({ headers }: SipResponse): string[] {
  const contacts = headers.list('contact').flatMap(value => parseNameAddr(value) ?? [])
  const wish = ({ params }: (typeof contacts)[number]): number => Number(paramValue(params, 'q') ?? 1) || 0
  return contacts.sort((a, b) => wish(b) - wish(a)).map(({ uri }) => toText(withoutHeaders(uri)))
}

/** Sends a new INVITE after a challenge (RFC 3261 §22) or a session interval that was too small (RFC 4028 §7.3). */
function retry({ core, session, call, invite }: Attempt, response: SipResponse, now: number): boolean {
  if (invite.cseq >= MAX_ATTEMPTS) return false
  const wanted = minSe(response.headers)
  if (response.status === 422 && wanted > session.minSeS) {
    session.minSeS = wanted
    attempt(core, session, call, invite.cseq + 1, credentialsAgain(core, session, invite), now)
    return true
  }
  const credentials = credentialsFor(core, session, invite, response, call.authenticated)
  if (credentials === null) return false
  call.authenticated++
  attempt(core, session, call, invite.cseq + 1, credentials, now)
  return true
}

/** Gives up a call without a final response; the owner gets no further events. */
export function cancelCall(core: AgentCore, session: Session, headers: HeaderFields, now: number): void {
  const call = session.outgoing
  if (call === null || session.phase !== 'inviting') return
  finish(core, session, ended(session, 'local', 'cancel'), now)
  call.givenUpWith = headers
  if (call.provisionalSeen) sendCancel(core, session, call, headers, now)
  else call.cancelHeaders = headers
}

function sendCancel(core: AgentCore, session: Session, call: OutgoingCall, headers: HeaderFields, now: number): void {
  const { invite, transaction } = call
  if (invite === null || transaction === null) return
  call.cancelHeaders = null
  const cancel: OutgoingRequest = {
    ...invite,
    method: 'CANCEL',
    headers: [...headers, ...credentialsOf(invite)],
    body: null,
  }
  const branch = transaction.key.slice(0, transaction.key.indexOf('|'))
  const failed: ClientUser['failed'] = cause => {
    // The connection was closed, and its phone has not registered again yet.
    if (cause === 'unreachable') call.cancelHeaders = headers
  }
  core.transactions.start(cancel, branch, transaction.to, { response: () => {}, failed }, now)
  // An INVITE that stays unanswered after its CANCEL is given up too (RFC 3261 §9.1).
  core.deadlines.set(now + 64 * core.timers.t1, () => {
    if (transaction.state !== 'proceeding') return
    core.transactions.abandon(transaction)
    core.forget(session)
  })
}
