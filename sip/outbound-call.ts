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
import type { HeaderFields, InviteRequest } from './agent-types.ts'
import { type Dialog, dialogOfResponse, peerOfUri, refreshTarget } from './dialog.ts'
import { ended, finish, sayBye } from './ending.ts'
import { authorize, isStale, successAck } from './in-dialog-request.ts'
import { type OutgoingRequest, ownFields, reasonOf, safeValue, wireUri } from './message/format.ts'
import { parseDeltaSeconds } from './message/headers.ts'
import { Headers, type SipResponse, toText } from './message/message.ts'
import { quote } from './message/params.ts'
import { parseUri } from './message/uri.ts'
import { runSessionTimer } from './own-reinvite.ts'
import { agreedSessionTimer, askSessionTimer, MIN_SESSION_EXPIRES_S, minSe } from './session-timer.ts'

/** One challenge by a proxy and one by the other side, each of which may say that the nonce was stale. */
const MAX_CHALLENGES = 3

/** Starts a call (RFC 3261 §13.2). What cannot be sent at all is `rejected` at once. */
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
    authenticated: 0,
    minSeS: MIN_SESSION_EXPIRES_S,
  }
  session.outgoing = call
  session.localDescription = request.body ?? null
  core.add(session)
  const to = parseUri(wireUri(request.to))
  if ('error' in from || 'error' in to) rejectLocally(core, session, 400, now)
  else if ((request.target ?? peerOfUri(request.to)) === null) rejectLocally(core, session, 416, now)
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
  const hop = request.target ?? peerOfUri(request.to)!
  const to = request.publicOnly === true ? { ...hop, publicOnly: true } : hop
  const branch = core.branch()
  const display = request.displayName === undefined ? '' : `${quote(safeValue(request.displayName))} `
  const invite: OutgoingRequest = {
    method: 'INVITE',
    uri: wireUri(request.to),
    via: core.via(to.transport, branch),
    route: [],
    from: `${display}<${wireUri(request.from)}>;tag=${session.localTag}`,
    to: `<${wireUri(request.to)}>`,
    callId: session.callId,
    cseq,
    headers: [
      ['Contact', core.contact(to.transport, session.user)],
      ['Allow', ALLOW],
      ['Supported', SUPPORTED],
      ...(request.sessionExpiresS === undefined ? [] : askSessionTimer(request.sessionExpiresS, call.minSeS, null)),
      ...authorization,
      ...ownFields(request.headers ?? []),
      ['User-Agent', core.options.name],
    ],
    body: request.body ?? null,
  }
  const on: Attempt = { core, session, call, invite, legs: new Map() }
  call.invite = invite
  call.transaction = core.transactions.start(
    invite,
    branch,
    to,
    {
      response: (response, at) => onResponse(on, response, at),
      failed: (cause, at) => {
        if (session.phase === 'over') core.forget(session)
        else rejectLocally(core, session, cause === 'timeout' ? 408 : 503, at)
      },
    },
    now,
  )
}

/** One dialog of a forked call: its ACK is sent again for every 2xx that comes again. */
interface Leg {
  ack: ReturnType<typeof successAck> | null
}

/** An INVITE that waits for its answer. */
interface Attempt {
  core: AgentCore
  session: Session
  call: OutgoingCall
  legs: Map<string | null, Leg>
  invite: OutgoingRequest
}

function onResponse(on: Attempt, response: SipResponse, now: number): void {
  const { status } = response
  if (status < 200) onProvisional(on, response, now)
  else if (status < 300) onSuccess(on, response, now)
  else onFailure(on, response, now)
}

function onProvisional({ core, session, call }: Attempt, response: SipResponse, now: number): void {
  call.provisionalSeen = true
  if (session.phase === 'over') {
    if (call.cancelHeaders !== null) sendCancel(core, session, call, call.cancelHeaders, now)
    return
  }
  if (response.status === 100) return
  core.emit({ kind: 'provisional', sessionId: session.id, status: response.status, body: bodyOf(response) })
}

function onSuccess({ core, session, call, legs, invite }: Attempt, response: SipResponse, now: number): void {
  const known = legs.get(response.to.tag)
  if (known !== undefined) {
    if (known.ack !== null) core.send(known.ack.bytes, known.ack.to)
    return
  }
  const leg: Leg = { ack: null }
  legs.set(response.to.tag, leg)
  const dialog = dialogOfResponse(invite, session.localTag, response, call.transaction!.to)
  const acknowledge = (body: OutgoingRequest['body']): void => {
    leg.ack = successAck(core, dialog, invite, body)
    core.send(leg.ack.bytes, leg.ack.to)
  }
  if (session.dialog !== null || session.phase === 'over') {
    refuseLeg(core, session, dialog, acknowledge, now)
    return
  }
  session.dialog = dialog
  session.phase = 'confirmed'
  refreshTarget(dialog, response.headers)
  if (invite.body !== null) acknowledge(null)
  else {
    session.acknowledge = answer => {
      session.acknowledge = null
      if (answer !== null) session.localDescription = answer
      acknowledge(answer)
    }
  }
  runSessionTimer(core, session, agreedSessionTimer(response.headers), now)
  const header = headerReader(response.headers)
  core.emit({
    kind: 'answered',
    sessionId: session.id,
    body: bodyOf(response),
    header,
    peer: core.sender ?? dialog.peer,
  })
}

/** A second fork answered, or the call was given up while its answer was on the way: ACK, then BYE (RFC 3261 §13.2.2.4). */
function refuseLeg(
  core: AgentCore,
  session: Session,
  dialog: Dialog,
  acknowledge: (body: null) => void,
  now: number,
): void {
  acknowledge(null)
  sayBye(core, session, dialog, [], now, () => {
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
      header: headerReader(response.headers),
    },
    now,
  )
  core.forget(session)
}

/** Answers a challenge (RFC 3261 §22) or a session interval that was too small (RFC 4028 §7.3) with a new INVITE. */
function retry({ core, session, call, invite }: Attempt, response: SipResponse, now: number): boolean {
  const kept = invite.headers.filter(([name]) => /^(proxy-)?authorization$/i.test(name))
  const wanted = minSe(response.headers)
  if (response.status === 422 && wanted > call.minSeS) {
    call.minSeS = wanted
    attempt(core, session, call, invite.cseq + 1, kept, now)
    return true
  }
  if (call.authenticated >= MAX_CHALLENGES) return false
  const credentials = authorize(core, session, invite, response)
  if (credentials === null) return false
  const repeated = kept.some(([name]) => name === credentials[0])
  // The same challenge again means that the password is wrong, unless the server says that only the nonce was old.
  if (repeated && !isStale(response)) return false
  call.authenticated++
  const others = kept.filter(([name]) => name !== credentials[0])
  attempt(core, session, call, invite.cseq + 1, [...others, credentials], now)
  return true
}

/** Gives up a call without a final response; nothing for the owner comes after this. */
export function cancelCall(core: AgentCore, session: Session, headers: HeaderFields, now: number): void {
  const call = session.outgoing
  if (call === null || session.phase !== 'inviting') return
  finish(core, session, ended(session, 'local', 'cancel'), now)
  if (call.provisionalSeen) sendCancel(core, session, call, headers, now)
  else call.cancelHeaders = headers
}

function sendCancel(core: AgentCore, session: Session, call: OutgoingCall, headers: HeaderFields, now: number): void {
  const { invite, transaction } = call
  if (invite === null || transaction === null) return
  call.cancelHeaders = null
  const authorization = invite.headers.filter(([name]) => /^(proxy-)?authorization$/i.test(name))
  const cancel: OutgoingRequest = { ...invite, method: 'CANCEL', headers: [...headers, ...authorization], body: null }
  const branch = transaction.key.slice(0, transaction.key.indexOf('|'))
  core.transactions.start(cancel, branch, transaction.to, { response: () => {}, failed: () => {} }, now)
  // An INVITE that stays unanswered after its CANCEL is given up too (RFC 3261 §9.1).
  core.deadlines.set(now + 64 * core.timers.t1, () => {
    if (transaction.state !== 'proceeding') return
    core.transactions.abandon(transaction)
    core.forget(session)
  })
}
