import type { DigestAlgorithm } from './auth/digest-algorithm.ts'
import type { Timers } from './transaction/timers.ts'

export type Transport = 'udp' | 'tcp' | 'tls'

/** Where bytes came from or go to. `host` is an address or, when sending, possibly a name that the owner resolves. */
export interface Peer {
  transport: Transport
  host: string
  port: number
  /** Names an open connection; a sender reuses it while it is open and connects to host and port otherwise. */
  connectionId?: string
  /** Who named it is of a public network: its owner sends to no private address for it. */
  publicOnly?: boolean
  /** Its owner knows who that is (a trunk, a registered phone): room is kept for it while strangers flood us. */
  isKnown?: boolean
}

/** A message body with its Content-Type. */
export interface Body {
  type: string
  bytes: Uint8Array
}

/** Extra header fields, in order: name and value. */
export type HeaderFields = readonly (readonly [name: string, value: string])[]

export interface Party {
  uri: string
  displayName: string | null
}

/** The first value of a header of the message behind an event, by its full name in any case; null when absent. */
export type HeaderReader = (name: string) => string | null

export type EndCause =
  | 'bye'
  | 'cancel'
  /** We refused the incoming call. */
  | 'rejected'
  /** The caller never acknowledged our 2xx. */
  | 'ack_timeout'
  /** A request inside the call was never answered, or answered 408 or 481 (RFC 3261 §12.2.1.2). */
  | 'timeout'
  /** No refresh came before Session-Expires ran out (RFC 4028 §10). */
  | 'session_expired'
  | 'transport_failed'

export type UaEvent =
  | {
      kind: 'incoming'
      sessionId: string
      requestUri: string
      from: Party
      to: Party
      callId: string
      header: HeaderReader
      /** Absent: the caller wants our offer in the 2xx and sends its answer in the ACK. */
      offer: Body | null
      peer: Peer
    }
  /** 101 to 199 to our INVITE. */
  | { kind: 'provisional'; sessionId: string; status: number; body: Body | null }
  /**
   * 2xx to our INVITE. When we sent an offer `body` is the answer and the ACK is sent already; when we sent none `body`
   * is the offer and the owner calls `acknowledge` with the answer.
   */
  | { kind: 'answered'; sessionId: string; body: Body | null; header: HeaderReader; peer: Peer }
  /** Our INVITE failed: the last event of this session. `origin` local: 408 by time-out, 503 by transport failure. */
  | {
      kind: 'rejected'
      sessionId: string
      status: number
      reason: string
      retryAfterS: number | null
      origin: 'local' | 'remote'
      header: HeaderReader
    }
  /** The ACK for our 2xx; `body` is the answer when the offer was ours. */
  | { kind: 'confirmed'; sessionId: string; body: Body | null }
  /** The other side sent a re-INVITE, or an UPDATE with an offer; the owner answers with acceptReinvite or rejectReinvite. */
  | { kind: 'reinvite'; sessionId: string; offer: Body | null; peer: Peer }
  /** 2xx to our re-INVITE. `refresh`: it only renewed the session timer, with the last description that we sent. */
  | { kind: 'reinviteAnswered'; sessionId: string; body: Body | null; refresh: boolean }
  | { kind: 'reinviteRejected'; sessionId: string; status: number }
  /** The ACK for our 2xx to their re-INVITE. */
  | { kind: 'reinviteConfirmed'; sessionId: string; body: Body | null }
  | { kind: 'info'; sessionId: string; contentType: string; body: Uint8Array }
  /** The last event of a session that did not end as `rejected`. */
  | { kind: 'ended'; sessionId: string; by: 'local' | 'remote'; cause: EndCause; reasonHeader: string | null }

/** A contact of a REGISTER: the time it asks for, or has left. `*`: all of them. */
export interface RegisterContact {
  uri: string
  expiresS: number
}

/** A REGISTER with a digest answer to a fresh challenge of ours; the owner calls `checkRegister`, then `answerRegister`. */
export interface RegisterEvent {
  registerId: string
  /** The address-of-record. */
  user: string
  host: string
  contacts: RegisterContact[]
  /** Who the digest says it is, and with which hash. */
  username: string
  realm: string
  algorithm: DigestAlgorithm
  callId: string
  cSeq: number
  peer: Peer
}

export interface RegisterReply {
  status: number
  contacts: readonly RegisterContact[]
  /** With 423 [s]. */
  minExpiresS: number | null
  /** With 503 [s]. */
  retryAfterS: number | null
}

/** A far end that we register at (`register`), or ask by OPTIONS whether it is there (`ping`), until told otherwise. */
export interface Watch {
  watchId: string
  kind: 'register' | 'ping'
  /** The Request-URI: the registrar, or whom to ask. */
  uri: string
  /** From; with `register` To as well: the address-of-record. */
  from: string
  /** User part of our Contact. */
  contactUser: string
  target: Peer
  credentials: Credentials | null
}

/** What keeps up with one far end until it is stopped. */
export interface Watching {
  readonly watch: Watch
  start(now: number): void
  /** Idempotent until it says that it is over. */
  stop(now: number): void
}

export type WatchStatus = 'registered' | 'reachable' | 'unreachable'

/** Told when it changes. `sipCode`: what the far end said, or 408 and 503 for what it did not; null: nothing to say. */
export interface WatchReport {
  watchId: string
  status: WatchStatus
  sipCode: number | null
}

export type Action =
  | { kind: 'send'; bytes: Uint8Array; to: Peer }
  | { kind: 'event'; event: UaEvent }
  | { kind: 'register'; register: RegisterEvent }
  | { kind: 'watch'; report: WatchReport }

export interface OptionsStatus {
  status: number
  reason?: string
  retryAfterS?: number
}

export interface Credentials {
  username: string
  password: string
}

export interface UserAgentOptions {
  /** Goes into User-Agent and Server. */
  name: string
  /** The address written into Via and Contact for a transport. */
  local: (transport: Transport) => { host: string; port: number }
  /** An unguessable token of letters and digits, fresh on every call; at least 64 bits. */
  random: () => string
  timers?: Timers
  /** Above this many transactions new requests of strangers are refused with 503. Default 50,000. */
  maxTransactions?: number
  /** The answer to OPTIONS, so that an owner that drains can say 503. Default 200. */
  optionsStatus?: () => OptionsStatus
  /** Takes registrations for this realm; absent: REGISTER is answered 405. */
  registrarRealm?: string
  /** The smallest session interval that we accept (RFC 4028 §5) [s]. Default and floor 90. */
  minSessionExpiresS?: number
}

export interface InviteRequest {
  /** The Request-URI and To. */
  to: string
  /** The From URI; its user part goes into Contact. */
  from: string
  displayName?: string
  /** Outbound proxy or resolved next hop; default: taken from the `to` URI. */
  target?: Peer
  /** See `Peer`; for what the `to` URI names. */
  publicOnly?: boolean
  /** The offer; absent: the other side offers in its 2xx and `acknowledge` answers. */
  body?: Body
  headers?: HeaderFields
  credentials?: Credentials
  /** Asks for a session timer of this length (RFC 4028) [s]. */
  sessionExpiresS?: number
}

export interface Counters {
  /** Unparseable messages, answered 400 where possible, dropped otherwise. */
  malformed: number
  /** Messages over the size bounds. */
  oversized: number
  /** Responses, ACKs and CANCELs that belong to nothing we know. */
  unmatched: number
  retransmissionsSent: number
  retransmissionsReceived: number
  /** Requests refused because `maxTransactions` was reached. */
  transactionsRefused: number
  /** Messages that could not be answered and were thrown away. */
  dropped: number
  requestsReceived: number
  responsesReceived: number
}
