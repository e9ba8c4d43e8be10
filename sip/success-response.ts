import { type AgentCore, type AwaitedAck, bodyOf, type Session } from './agent-core.ts'
import type { Body } from './agent-types.ts'
import { ended, finish, hangUp, stopAwaitingAck, TIMER_EXPIRED } from './ending.ts'
import type { ResponseParts } from './message/format.ts'
import type { SipRequest } from './message/message.ts'
import type { ServerTransaction } from './transaction/transactions.ts'

/**
 * Answers an INVITE with 2xx and sends it again, at T1 doubling up to T2, until the ACK comes; after 64*T1 without one the
 * call is hung up (RFC 3261 §13.3.1.4). That holds over TCP too. `confirmed` gets the answer of the ACK, if the offer was ours.
 */
export function sendSuccess(
  core: AgentCore,
  session: Session,
  transaction: ServerTransaction,
  parts: ResponseParts,
  confirmed: (answer: Body | null) => void,
  now: number,
): boolean {
  const bytes = core.respond(transaction, parts, now)
  if (bytes === null) return false
  const { t1, t2 } = core.timers
  session.awaitedAck = {
    cseq: transaction.request.cseq.number,
    // A body in the ACK is an answer only if the INVITE had no offer.
    isOurOffer: bodyOf(transaction.request) === null,
    confirmed,
    again: null,
    limit: null,
  }
  const arm = (atMs: number, intervalMs: number): void => {
    session.awaitedAck!.again = core.deadlines.set(atMs, at => {
      core.counters.retransmissionsSent++
      core.send(bytes, transaction.replyTo)
      if (intervalMs > t1) noteUnacknowledged(core, session)
      const next = Math.min(2 * intervalMs, t2)
      arm(Math.max(atMs, at - t2) + next, next)
    })
  }
  arm(now + t1, t1)
  session.awaitedAck.limit = core.deadlines.set(now + 64 * t1, at => {
    finish(core, session, ended(session, 'local', 'ack_timeout'), at)
    hangUp(core, session, session.pendingBye ?? TIMER_EXPIRED, at)
  })
  return true
}

/** An ACK inside a dialog. */
export function acknowledged(core: AgentCore, session: Session, ack: SipRequest, now: number): void {
  const awaited = session.awaitedAck
  // Another ACK for a 2xx that was acknowledged already is the answer to a retransmission of ours.
  if (awaited === null || awaited.cseq !== ack.cseq.number) return
  confirm(core, session, awaited, ack, now)
}

/**
 * Who changes the session by INVITE has got our 200, though its ACK is lost or late (RFC 5407 §3.1.4). That of an offer of ours is still waited
 * for, as it brings the answer.
 */
export function acknowledgedByChange(core: AgentCore, session: Session, now: number): void {
  const awaited = session.awaitedAck
  if (awaited !== null && !awaited.isOurOffer) confirm(core, session, awaited, null, now)
}

function confirm(core: AgentCore, session: Session, awaited: AwaitedAck, ack: SipRequest | null, now: number): void {
  stopAwaitingAck(core, session)
  noteAcknowledged(core, session)
  if (session.phase === 'answered') session.phase = 'confirmed'
  if (session.pendingBye !== null) hangUp(core, session, session.pendingBye, now)
  else if (session.phase !== 'over') awaited.confirmed(ack === null || !awaited.isOurOffer ? null : bodyOf(ack))
}

/**
 * What we say to a caller is sent for the third time, and nobody has acknowledged it: the source of its INVITE may be forged, and the address
 * in its offer somebody else's. The owner is told of that, and of the first acknowledgement if it comes.
 */
export function noteUnacknowledged(core: AgentCore, session: Session): void {
  if (session.role !== 'uas' || session.phase === 'over' || session.isReached !== null) return
  session.isReached = false
  core.emit({ kind: 'unacknowledged', sessionId: session.id, isOver: false })
}

/** ACK or PRACK: nobody can send one who does not receive what we send, as it names our tag. */
export function noteAcknowledged(core: AgentCore, session: Session): void {
  const wasDoubted = session.isReached === false
  session.isReached = true
  if (wasDoubted) core.emit({ kind: 'unacknowledged', sessionId: session.id, isOver: true })
}
