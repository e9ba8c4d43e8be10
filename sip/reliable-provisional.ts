import {
  type AgentCore,
  bodyOf,
  type ReliableProvisionals,
  type Session,
  type UnacknowledgedProvisional,
  type WantedProvisional,
} from './agent-core.ts'
import type { Body, HeaderFields, ReliabilityOfCaller, ReliabilityPolicy } from './agent-types.ts'
import { ended, finish, TIMER_EXPIRED } from './ending.ts'
import type { SipRequest } from './message/message.ts'
import { noteAcknowledged, noteUnacknowledged } from './success-response.ts'
import type { ServerTransaction } from './transaction/transactions.ts'

/** Provisional responses of an inbound call that the caller acknowledges by PRACK (RFC 3262 §3). */

export function reliabilityOf({ headers }: SipRequest): ReliabilityOfCaller {
  if (headers.hasToken('require', '100rel')) return 'required'
  return headers.hasToken('supported', '100rel') ? 'supported' : null
}

/** Whether a provisional response is to be reliable. Only these may carry our offer (§5). */
export function isReliable(request: SipRequest, policy: ReliabilityPolicy, body: Body | null): boolean {
  const wish = reliabilityOf(request)
  const isOffer = body !== null && bodyOf(request) === null
  return wish === 'required' || (wish === 'supported' && (policy === 'when_supported' || isOffer))
}

/** Sends one, or keeps it until the previous one is acknowledged. */
export function sendReliably(
  core: AgentCore,
  session: Session,
  transaction: ServerTransaction,
  wanted: WantedProvisional,
  now: number,
): void {
  session.reliable ??= {
    rseq: Math.floor(core.fraction() * (2 ** 31 - 1)),
    waiting: null,
    next: null,
    isAgreed: false,
    prack: null,
    whenSettled: null,
  }
  const state = session.reliable
  if (state.waiting !== null) {
    state.next = { ...wanted, body: wanted.body ?? state.next?.body ?? null }
    return
  }
  const { status, body, headers } = wanted
  const rseq = ++state.rseq
  const fields: HeaderFields = [...headers, ['Require', '100rel'], ['RSeq', String(rseq)]]
  const bytes = core.respond(transaction, { status, toTag: session.localTag, headers: fields, body }, now)
  if (bytes === null) return
  const { t1 } = core.timers
  const waiting: UnacknowledgedProvisional = {
    rseq,
    cseq: transaction.request.cseq.number,
    body,
    again: null,
    limit: null,
  }
  state.waiting = waiting
  const arm = (atMs: number, intervalMs: number): void => {
    waiting.again = core.deadlines.set(atMs, () => {
      core.counters.retransmissionsSent++
      core.send(bytes, transaction.replyTo)
      if (intervalMs > t1) noteUnacknowledged(core, session)
      arm(atMs + 2 * intervalMs, 2 * intervalMs)
    })
  }
  arm(now + t1, t1)
  waiting.limit = core.deadlines.set(now + 64 * t1, at => giveUp(core, session, transaction, at))
}

/** No PRACK came: the call is refused (§3). */
function giveUp(core: AgentCore, session: Session, transaction: ServerTransaction, now: number): void {
  if (session.incoming !== transaction || session.isAnswering) return
  session.incoming = null
  core.respond(transaction, { status: 504, toTag: session.localTag, headers: TIMER_EXPIRED }, now)
  finish(core, session, ended(session, 'local', 'prack_timeout'), now)
  core.forget(session)
}

/** Runs at once, or when every provisional description is acknowledged and every offer answered. */
export function whenSettled(session: Session, run: (now: number) => void, now: number): void {
  const { reliable } = session
  if (reliable === null || isSettled(reliable)) run(now)
  else reliable.whenSettled ??= run
}

/** Whether nothing that was offered before the answer waits for its answer. */
export const isAgreedEarly = ({ reliable }: Session): boolean => reliable?.isAgreed === true && isSettled(reliable)

const isSettled = ({ waiting, next, prack }: ReliableProvisionals): boolean =>
  (waiting?.body ?? null) === null && (next?.body ?? null) === null && prack === null

/** PRACK (§3): 400 if it is unreadable, 481 if nothing waits for it. */
export function onPrack(core: AgentCore, session: Session, transaction: ServerTransaction, now: number): void {
  const { request } = transaction
  const rack = parseRack(request.headers.get('rack'))
  const { reliable } = session
  const waiting = reliable?.waiting ?? null
  if (rack === null) core.respond(transaction, { status: 400 }, now)
  else if (reliable === null || waiting?.rseq !== rack.rseq || waiting.cseq !== rack.cseq || rack.method !== 'INVITE') {
    core.respond(transaction, { status: 481 }, now)
  } else {
    core.deadlines.cancel(waiting.again)
    core.deadlines.cancel(waiting.limit)
    reliable.waiting = null
    noteAcknowledged(core, session)
    take(core, session, reliable, { transaction, body: waiting.body }, now)
    proceed(core, session, reliable, now)
  }
}

function take(
  core: AgentCore,
  session: Session,
  reliable: ReliableProvisionals,
  acknowledged: { transaction: ServerTransaction; body: Body | null },
  now: number,
): void {
  const { transaction } = acknowledged
  const body = bodyOf(transaction.request)
  const hadOffer = session.incoming === null || bodyOf(session.incoming.request) !== null
  const isAnswer = acknowledged.body !== null && !hadOffer
  if (body === null || isAnswer || session.incoming === null) core.respond(transaction, { status: 200 }, now)
  else reliable.prack = transaction
  reliable.isAgreed ||= acknowledged.body !== null && (hadOffer || body !== null)
  if (body !== null && session.incoming !== null) {
    core.emit({ kind: 'prack', sessionId: session.id, body, isOffer: !isAnswer })
  }
}

/** The answer to the offer of a PRACK (§5); null: it is refused, and the earlier agreement stays. */
export function answerPrack(core: AgentCore, session: Session, body: Body | null, now: number): void {
  const { reliable } = session
  if (reliable?.prack == null) return
  const transaction = reliable.prack
  reliable.prack = null
  core.respond(transaction, body === null ? { status: 488 } : { status: 200, body }, now)
  proceed(core, session, reliable, now)
}

/** Sends what was held back. */
function proceed(core: AgentCore, session: Session, reliable: ReliableProvisionals, now: number): void {
  const { next, whenSettled: settled } = reliable
  if (settled !== null && isSettled(reliable)) {
    reliable.whenSettled = null
    settled(now)
  } else if (next !== null && reliable.prack === null && session.incoming !== null) {
    reliable.next = null
    sendReliably(core, session, session.incoming, next, now)
  }
}

/** `RAck: 776656 1 INVITE` (RFC 3262 §7.2). */
function parseRack(value: string | null): { rseq: number; cseq: number; method: string } | null {
  const parts = /^\s*(\d{1,10})\s+(\d{1,10})\s+([A-Za-z0-9.!%*_+`'~-]+)\s*$/.exec(value ?? '')
  return parts === null ? null : { rseq: Number(parts[1]), cseq: Number(parts[2]), method: parts[3]! }
}
