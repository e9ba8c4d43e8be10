import { AgentCore, type Asked, type Session } from './agent-core.ts'
import type {
  Action,
  AskReply,
  Body,
  Counters,
  Credentials,
  HeaderFields,
  InviteRequest,
  Peer,
  RegisterReply,
  ReliabilityPolicy,
  TextMessage,
  UserAgentOptions,
  Watch,
} from './agent-types.ts'
import { ended, finish, hangUp } from './ending.ts'
import { acceptCall, beginAnswer, handOver, mayAsk, rejectCall, sendProvisional } from './inbound-call.ts'
import { onRequest, refuseBroken } from './incoming-request.ts'
import { sendInfo, sendOptions } from './info.ts'
import { ownFields } from './message/format.ts'
import { type ParseErrorCode, type ParseFailure, parseMessage } from './message/parse.ts'
import { cancelCall, hurry, startCall } from './outbound-call.ts'
import { sendReinvite, withdrawReinvite } from './own-reinvite.ts'
import { acceptReinvite, rejectReinvite } from './peer-reinvite.ts'
import { answerAsk, checkAsk } from './phones/asks.ts'
import { sendMessage } from './phones/outgoing-message.ts'
import type { PackageState } from './phones/packages.ts'
import { type PhoneContact, PhoneWays } from './phones/phone-ways.ts'
import { Subscriptions } from './phones/subscriptions.ts'
import { answerRegister, checkRegister } from './register.ts'
import { answerPrack } from './reliable-provisional.ts'
import { type ReferRequest, sendRefer } from './transfer/own-refer.ts'
import { answerRefer, notifyRefer } from './transfer/peer-refer.ts'
import { Watches } from './watches.ts'

export type * from './agent-types.ts'

const TOO_LARGE: ReadonlySet<ParseErrorCode> = new Set([
  'too_large',
  'head_too_large',
  'header_too_large',
  'too_many_headers',
])

/**
 * A SIP user agent without sockets, clock or timers: bytes and the time go in, actions come out (RFC 3261 §8, §12 to §15).
 *
 * Every method returns what the owner has to do next, in order. `now` is monotonic [ms] and never goes back. A method called for
 * an unknown session or in a state that forbids it returns no action. Input from the wire never causes an exception.
 */
export class UserAgent {
  readonly #core: AgentCore
  readonly #watches: Watches
  readonly #phoneWays: PhoneWays

  constructor(options: UserAgentOptions) {
    this.#core = new AgentCore(options)
    this.#watches = new Watches(this.#core)
    this.#phoneWays = new PhoneWays(this.#core)
    this.#core.subscriptions = new Subscriptions(this.#core)
  }

  get counters(): Readonly<Counters> {
    return this.#core.counters
  }

  /** Sessions that are not over, or whose end is still being sent to the far end. */
  get sessionCount(): number {
    return this.#core.sessions.size
  }

  /** Transactions that run or wait for retransmissions. */
  get transactionCount(): number {
    return this.#core.transactions.size
  }

  /** Far ends that are watched, or being unregistered. */
  get watchCount(): number {
    return this.#watches.size
  }

  /** One datagram, or one message cut from a stream by StreamFramer. Bodies in events are views of `bytes`. */
  receive(bytes: Uint8Array, from: Peer, now: number): Action[] {
    const core = this.#core
    core.sender = from
    const message = parseMessage(bytes, from.transport === 'tcp' || from.transport === 'tls')
    // No more bytes than the sender spent, where its address may be forged.
    if (message.kind === 'failure') this.#broken(message, from.transport === 'udp' ? bytes.length : Infinity, from)
    else if (message.kind === 'request') {
      core.counters.requestsReceived++
      onRequest(core, message, from, now)
    } else {
      core.counters.responsesReceived++
      // Two Vias: a misrouted response to somebody else (RFC 3261 §18.1.2).
      const ours = message.headers.list('via').length === 1
      if (!ours || !core.transactions.response(message, now)) core.counters.unmatched++
    }
    return core.take()
  }

  #broken({ error, request }: ParseFailure, atMostBytes: number, from: Peer): void {
    const { counters } = this.#core
    if (error === 'empty') return
    const tooLarge = error === 'body_too_large' ? 413 : TOO_LARGE.has(error) ? 513 : null
    if (tooLarge === null) counters.malformed++
    else counters.oversized++
    if (request === null) counters.dropped++
    else if (tooLarge !== null) refuseBroken(this.#core, request, { status: tooLarge, atMostBytes }, from)
    else refuseBroken(this.#core, request, { status: error === 'bad_version' ? 505 : 400 }, from)
  }

  /** Fires due timers. */
  advance(now: number): Action[] {
    this.#core.deadlines.advance(now)
    return this.#core.take()
  }

  /** When `advance` must be called next [ms], or null. */
  nextDeadline(): number | null {
    return this.#core.deadlines.next()
  }

  /** Bytes could not be sent to a peer (ICMP, connection refused, name not found): its client transactions end as 503. */
  transportFailed(to: Peer, now: number): Action[] {
    this.#core.transactions.transportFailed(to, now)
    return this.#core.take()
  }

  /** A connection that we opened is closed. */
  disconnected(from: Peer, now: number): Action[] {
    this.#watches.disconnected(from, now)
    return this.#core.take()
  }

  /**
   * A phone is now reached over another connection: unanswered requests are sent again there. Or, over UDP, at another address: what is new in
   * its dialogs goes there. `to` null: the connection is closed, and unanswered requests are sent again to where each of them goes.
   */
  moved(from: Peer, to: Peer | null, now: number): Action[] {
    if (from.transport === 'udp' && to !== null) {
      this.#core.phoneMoved(from, to)
      this.#phoneWays.leave(from)
    } else this.#core.transactions.moved(from, to, now)
    return this.#core.take()
  }

  /** The result of a requested lookup: the addresses in the order to try them; empty if it leads nowhere. */
  located(locationId: string, ways: readonly Peer[], now: number): Action[] {
    this.#core.located(locationId, ways, now)
    return this.#core.take()
  }

  /** Starts a call. */
  invite(request: InviteRequest, now: number): { sessionId: string; actions: Action[] } {
    const session = startCall(this.#core, request, now)
    return { sessionId: session.id, actions: this.#core.take() }
  }

  /** The Call-ID of a session; null: it does not exist, or no longer does. */
  callIdOf(sessionId: string): string | null {
    return this.#core.sessions.get(sessionId)?.callId ?? null
  }

  /**
   * Ringing (180), early media (183) or another 101 to 199 for an inbound call. `policy`: who gets it reliably
   * (RFC 3262); absent: only callers that require it.
   */
  provisional(
    sessionId: string,
    status: number,
    body: Body | null,
    now: number,
    policy: ReliabilityPolicy = 'when_required',
  ): Action[] {
    return this.#with(sessionId, session => sendProvisional(this.#core, session, { status, body, policy }, now))
  }

  /** The answer to the offer in a `prack` event; null: it is refused. */
  answerPrack(sessionId: string, body: Body | null, now: number): Action[] {
    return this.#with(sessionId, session => answerPrack(this.#core, session, body, now))
  }

  /** The answer to an offer in a provisional response, sent in our PRACK. */
  acknowledgeEarly(sessionId: string, body: Body, now: number): Action[] {
    return this.#with(sessionId, session => session.acknowledgeEarly?.(body, now))
  }

  /**
   * An inbound call is answered, though its description is not known yet: `accept` or `reject` follows. What would end the call until then
   * comes too late, as if it had crossed the 200 on its way.
   */
  answering(sessionId: string): Action[] {
    return this.#with(sessionId, session => beginAnswer(this.#core, session))
  }

  /**
   * 200 to the inbound INVITE, followed by `accepted`. `body` is the answer, or the offer if the INVITE had none; null: both were exchanged by a provisional
   * response and its PRACK. `headers`: of the owner, besides those of every 200.
   */
  accept(sessionId: string, body: Body | null, now: number, headers: HeaderFields = []): Action[] {
    return this.#with(sessionId, session => acceptCall(this.#core, session, { body, headers: ownFields(headers) }, now))
  }

  /** Lets a far end that has called challenge our requests in its call, at the host that it calls from. */
  mayAsk(sessionId: string, credentials: Credentials): Action[] {
    return this.#with(sessionId, session => mayAsk(session, credentials))
  }

  /** Refuses an inbound call with a 3xx to 6xx; `ended` with cause `rejected` follows at once. */
  reject(
    sessionId: string,
    status: number,
    now: number,
    options: { reason?: string; headers?: HeaderFields } = {},
  ): Action[] {
    return this.#with(sessionId, session =>
      rejectCall(this.#core, session, { status, ...options, headers: ownFields(options.headers ?? []) }, now),
    )
  }

  /** Leaves an unanswered inbound call to whom its INVITE is passed on; null: it is answered. `ended` follows at once, as if it was refused. */
  handOver(sessionId: string, now: number): { invite: Asked | null; actions: Action[] } {
    let invite: Asked | null = null
    const actions = this.#with(sessionId, session => {
      invite = handOver(this.#core, session, now)
    })
    return { invite, actions }
  }

  /** Gives up our INVITE; `ended` follows at once and a crossing 2xx is acknowledged and hung up. */
  cancel(sessionId: string, now: number, headers: HeaderFields = []): Action[] {
    return this.#with(sessionId, session => cancelCall(this.#core, session, ownFields(headers), now))
  }

  /**
   * Hangs up in any state: BYE if answered (delayed until the ACK has arrived), CANCEL for our unanswered INVITE, `refusal` for
   * theirs. `ended` follows at once.
   */
  bye(sessionId: string, now: number, fields: HeaderFields = [], refusal = 480): Action[] {
    return this.#with(sessionId, session => {
      const [core, headers] = [this.#core, ownFields(fields)]
      if (session.incoming !== null) rejectCall(core, session, { status: refusal, headers }, now)
      else if (session.phase === 'inviting') cancelCall(core, session, headers, now)
      else {
        const mayNotYet = session.phase === 'answered'
        finish(core, session, ended(session, 'local', 'bye'), now)
        if (mayNotYet) session.pendingBye = headers
        else hangUp(core, session, headers, now)
      }
    })
  }

  /**
   * Changes the session: by UPDATE if the far end allows it, else by re-INVITE; `body` null: the far end offers. Handles glare (491, 500 with
   * Retry-After) itself. No action while another change, theirs or ours, is open. `takesTime`: the far end cannot
   * answer at once, as an UPDATE requires.
   */
  reinvite(sessionId: string, body: Body | null, now: number, takesTime = false): Action[] {
    return this.#with(sessionId, session => sendReinvite(this.#core, session, body, false, now, takesTime))
  }

  /** Cancels a change that waits after glare, because theirs came first and ours is out of date. It is not reported. */
  withdrawReinvite(sessionId: string): Action[] {
    return this.#with(sessionId, session => withdrawReinvite(this.#core, session))
  }

  /** 200 to the re-INVITE that an event brought; `body` is the answer, or the offer when it had none. */
  acceptReinvite(sessionId: string, body: Body, now: number): Action[] {
    return this.#with(sessionId, session => acceptReinvite(this.#core, session, body, now))
  }

  /** Refuses the re-INVITE that an event brought; the call goes on as it was. */
  rejectReinvite(sessionId: string, status: number, now: number, fields: HeaderFields = []): Action[] {
    const headers = ownFields(fields)
    return this.#with(sessionId, session => rejectReinvite(this.#core, session, { status, headers }, now))
  }

  /** The answer to an offer in a 2xx, sent in our ACK. */
  acknowledge(sessionId: string, body: Body, now: number): Action[] {
    return this.#with(sessionId, session => session.acknowledge?.(body, now))
  }

  /** INFO inside a confirmed call, for example DTMF, one after the other. An answer of 481 or 408 ends the call, any other is ignored. */
  info(sessionId: string, contentType: string, body: Uint8Array, now: number): Action[] {
    return this.#with(sessionId, session => sendInfo(this.#core, session, { type: contentType, bytes: body }, now))
  }

  /** Asks the far end of a confirmed call by OPTIONS whether it is there: `present` follows if so, and nothing otherwise. */
  checkPresence(sessionId: string, now: number): Action[] {
    return this.#with(sessionId, session => sendOptions(this.#core, session, now))
  }

  /** The identity and target of a confirmed dialog for far ends, or of the early one whose far end has this tag; null: there is none. */
  dialogOf(
    sessionId: string,
    early?: string | null,
  ): { callId: string; localTag: string; remoteTag: string; remoteTarget: string } | null {
    const { dialog = null, outgoing = null } = this.#core.sessions.get(sessionId) ?? {}
    const { callId, localTag, remoteTag, remoteTarget } = dialog ?? outgoing?.early.get(early ?? '')?.dialog ?? {}
    if (callId === undefined || localTag === undefined || remoteTag == null || remoteTarget === undefined) return null
    return { callId, localTag, remoteTag, remoteTarget }
  }

  /** Asks the far end of a call to call somebody else; null: not possible in this call, or already being asked. */
  refer(sessionId: string, request: ReferRequest, now: number): { referId: string | null; actions: Action[] } {
    let referId: string | null = null
    const actions = this.#with(sessionId, session => {
      referId = sendRefer(this.#core, session, request, now)
    })
    return { referId, actions }
  }

  /** A call that we have placed ends as 408, unless its far end says something, if only 100, within this time. */
  hurry(sessionId: string, patienceMs: number, now: number): Action[] {
    return this.#with(sessionId, session => hurry(this.#core, session, patienceMs, now))
  }

  /** Accepts the REFER of an event (status below 300), or refuses it. */
  answerRefer(referId: string, status: number, now: number): Action[] {
    const refer = this.#core.peerRefers.get(referId)
    if (refer !== undefined) answerRefer(this.#core, refer, status, now)
    return this.#core.take()
  }

  /** Reports progress to the sender of a REFER; a status from 200 on is the result. Works even after its call has ended. */
  notifyRefer(referId: string, status: number, now: number): Action[] {
    const refer = this.#core.peerRefers.get(referId)
    if (refer !== undefined) notifyRefer(this.#core, refer, status, now)
    return this.#core.take()
  }

  /**
   * Verifies the REGISTER of an event by H(username:realm:password); null: unknown account. Returns false if it has been
   * answered; null if it is no longer open.
   */
  checkRegister(registerId: string, ha1: string | null, now: number): { isRight: boolean | null; actions: Action[] } {
    const isRight = checkRegister(this.#core, registerId, ha1, now)
    return { isRight, actions: this.#core.take() }
  }

  /** Answers the REGISTER of an event; no action if it is no longer open. */
  answerRegister(registerId: string, reply: RegisterReply, now: number): Action[] {
    answerRegister(this.#core, registerId, reply, now)
    return this.#core.take()
  }

  /** Verifies the SUBSCRIBE or MESSAGE of an event, like `checkRegister`. */
  checkAsk(askId: string, ha1: string | null, now: number): { isRight: boolean | null; actions: Action[] } {
    const isRight = checkAsk(this.#core, askId, ha1, now)
    return { isRight, actions: this.#core.take() }
  }

  /** Answers it. `subscriptionId`: the subscription that a SUBSCRIBE has begun or renewed; null: none. */
  answerAsk(askId: string, reply: AskReply, now: number): { subscriptionId: string | null; actions: Action[] } {
    const subscriptionId = answerAsk(this.#core, askId, reply, now)
    return { subscriptionId, actions: this.#core.take() }
  }

  /** Sets the state of a subscription's subject. */
  notify(subscriptionId: string, state: PackageState, now: number): Action[] {
    this.#core.subscriptions.notify(subscriptionId, state, now)
    return this.#core.take()
  }

  /** Ends a subscription that its phone is no longer permitted to have. */
  endSubscription(subscriptionId: string, now: number): Action[] {
    this.#core.subscriptions.end(subscriptionId, now)
    return this.#core.take()
  }

  get subscriptionIds(): string[] {
    return this.#core.subscriptions.ids
  }

  /** Sends a text to a phone. */
  message(message: TextMessage, now: number): Action[] {
    sendMessage(this.#core, message, now)
    return this.#core.take()
  }

  /** Keeps the way to a phone that has registered over UDP open, for as long as its contacts are registered; see `PhoneWays`. */
  keepOpen(peer: Peer, contacts: readonly PhoneContact[], hasJustCome: boolean, now: number): Action[] {
    this.#phoneWays.keep(peer, contacts, hasJustCome, now)
    return this.#core.take()
  }

  /** Registers at a far end, or checks it by OPTIONS, from now on; replaces a watch with the same ID. */
  watch(watch: Watch, now: number): Action[] {
    this.#watches.add(watch, now)
    return this.#core.take()
  }

  /** Stops that; a registration is removed. */
  unwatch(watchId: string, now: number): Action[] {
    this.#watches.remove(watchId, now)
    return this.#core.take()
  }

  #with(sessionId: string, act: (session: Session) => void): Action[] {
    const session = this.#core.sessions.get(sessionId)
    if (session === undefined || session.phase === 'over') return []
    act(session)
    return this.#core.take()
  }
}
