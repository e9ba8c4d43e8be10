import type { Action, Body, Counters, HeaderFields, InviteRequest, Peer, UserAgentOptions } from './agent-types.ts'

export type * from './agent-types.ts'

/**
 * A SIP user agent without sockets, clock or timers: bytes and the time go in, actions come out (RFC 3261 §8, §12 to §15).
 *
 * Every method returns what the owner does next, in order. `now` is monotonic [ms] and never goes back. A method called for
 * an unknown session or in a state that forbids it returns no action. Nothing throws because of what the wire brought.
 */
export declare class UserAgent {
  readonly counters: Readonly<Counters>
  constructor(options: UserAgentOptions)
  /** One datagram, or one message cut from a stream by StreamFramer. */
  receive(bytes: Uint8Array, from: Peer, now: number): Action[]
  /** Fires what is due. */
  advance(now: number): Action[]
  /** When `advance` must be called next [ms], or null. */
  nextDeadline(): number | null
  /** Bytes could not be sent to a peer (ICMP, connection refused, name not found): its client transactions end as 503. */
  transportFailed(to: Peer, now: number): Action[]
  /** Starts a call. */
  invite(request: InviteRequest, now: number): { sessionId: string; actions: Action[] }
  /** Ringing (180) or early media (183) for an incoming call. */
  provisional(sessionId: string, status: number, body: Body | null, now: number): Action[]
  /** 200 to the incoming INVITE; `body` is the answer, or the offer when the INVITE had none. */
  accept(sessionId: string, body: Body, now: number): Action[]
  /** Refuses an incoming call with a 3xx to 6xx; `ended` with cause `rejected` follows at once. */
  reject(
    sessionId: string,
    status: number,
    now: number,
    options?: { reason?: string; headers?: HeaderFields },
  ): Action[]
  /** Gives up our INVITE; `ended` follows at once and a crossing 2xx is acknowledged and hung up. */
  cancel(sessionId: string, now: number, headers?: HeaderFields): Action[]
  /**
   * Hangs up in any state: BYE when answered (kept back until the ACK arrived), CANCEL for our unanswered INVITE, 480 for
   * theirs. `ended` follows at once.
   */
  bye(sessionId: string, now: number, headers?: HeaderFields): Action[]
  /** Sends a re-INVITE; `body` null: the other side offers. Waits out glare (491) by itself. */
  reinvite(sessionId: string, body: Body | null, now: number): Action[]
  acceptReinvite(sessionId: string, body: Body, now: number): Action[]
  rejectReinvite(sessionId: string, status: number, now: number): Action[]
  /** The answer to an offer that came in a 2xx, in our ACK. */
  acknowledge(sessionId: string, body: Body, now: number): Action[]
  /** INFO inside a confirmed call, for example DTMF. */
  info(sessionId: string, contentType: string, body: Uint8Array, now: number): Action[]
  /** Sessions that are not over. */
  get sessionCount(): number
}
