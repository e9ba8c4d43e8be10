import type { DigestAlgorithm } from './auth/digest-algorithm.ts'
import type { ReceivedIdentity } from './identity/received.ts'
import type { Redirect } from './identity/redirects.ts'
import type { Reason } from './message/reason.ts'
import type { EventPackage, PackageState } from './phones/packages.ts'
import type { Timers } from './transaction/timers.ts'

/** `ws` and `wss`: the WebSocket that a client has opened (RFC 7118); nobody is connected to that way. */
export type Transport = 'udp' | 'tcp' | 'tls' | 'ws' | 'wss'

/** Where bytes came from or go to: an address, not a name. */
export interface Peer {
  transport: Transport
  host: string
  port: number
  /** Of our own addresses the one that it reached, or that is to send there; absent: any of its family. */
  local?: string
  /** Nobody has said over which transport: what is too large for a datagram goes over TCP (RFC 3261 §18.1.1). */
  isTransportOpen?: boolean
  /** The name that led to this address: what a certificate is held against (RFC 5922 §7.2). */
  name?: string
  /** Names an open connection; a sender reuses it while it is open and connects to host and port otherwise. */
  connectionId?: string
  /** Who named it is of a public network: its owner sends to no private address for it. */
  publicOnly?: boolean
  /** It is a proxy that its owner believes; `origin`: who has sent it the request, null: it does not say. */
  proxy?: { origin: string | null }
  /** Its owner knows who that is (a trunk, a registered phone): room is kept for it while strangers flood us. */
  isKnown?: boolean
}

/**
 * Where a request is to go, as a URI or a setting names it. Null: nothing was said, and DNS tells (RFC 3263 §4), or the default of an
 * address does: UDP, and 5060, over TLS 5061.
 */
export interface Destination {
  transport: Transport | null
  /** A name, or an address. */
  host: string
  port: number | null
  /** Of `sips:`: every way is over TLS. */
  secure?: boolean
  /** As of a `Peer`. */
  connectionId?: string
  local?: string
  publicOnly?: boolean
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

/** What a caller says of reliable provisional responses (RFC 3262): it takes no others; it takes them; null: it does not know them. */
export type ReliabilityOfCaller = 'required' | 'supported' | null

/** Whether reliable ones are sent to callers that take them, or to those only that take no others. */
export type ReliabilityPolicy = 'when_supported' | 'when_required'

/** A dialog as its parties name it (RFC 3891 §6.1): `toTag` is the tag of who gets the Replaces, `fromTag` that of its far end. */
export interface NamedDialog {
  callId: string
  toTag: string
  fromTag: string
  /** It is replaced only while it has not been answered. */
  earlyOnly: boolean
}

export type EndCause =
  | 'bye'
  | 'cancel'
  /** We refused the incoming call. */
  | 'rejected'
  /** The caller never acknowledged a reliable provisional response of ours. */
  | 'prack_timeout'
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
      identity: ReceivedIdentity
      /** All values of Authorization and Proxy-Authorization. */
      authorizations: readonly string[]
      /** Absent: the caller wants our offer in the 2xx and sends its answer in the ACK. */
      offer: Body | null
      /** What the caller says of reliable provisional responses: only they can carry an offer of ours. */
      reliability: ReliabilityOfCaller
      peer: Peer
      /** The session whose place the call is to take (RFC 3891): nobody has judged whether it may. */
      replaces?: string
    }
  /** A PRACK with a description: the answer to the offer of our provisional response, or an offer, which `answerPrack` answers. */
  | { kind: 'prack'; sessionId: string; body: Body; isOffer: boolean }
  /**
   * 101 to 199 to our INVITE. `tag`: of its dialog; a call that forks has several. `isOffer`: `acknowledgeEarly` answers it, since
   * our INVITE had no offer.
   */
  | {
      kind: 'provisional'
      sessionId: string
      status: number
      body: Body | null
      isOffer: boolean
      tag: string | null
      peer: Peer
      /** The session whose place the call is to take (RFC 3891): nobody has judged whether it may. */
      replaces?: string
    }
  /**
   * 2xx to our INVITE. When we sent an offer `body` is the answer and the ACK is sent already; when we sent none `body`
   * is the offer and the owner calls `acknowledge` with the answer, unless a provisional response has brought it before.
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
      /** Of a 3xx: URIs of its Contacts, the most wanted first. */
      contacts: readonly string[]
      /** Of a 3xx: whom the call was for before, as it says itself (RFC 5806 §6.3). */
      redirects: readonly Redirect[]
      /** What its Reason headers say. */
      reasons: readonly Reason[]
      header: HeaderReader
    }
  /** The ACK for our 2xx; `body` is the answer when the offer was ours. */
  | { kind: 'confirmed'; sessionId: string; body: Body | null }
  /** The other side sent a re-INVITE, or an UPDATE with an offer; the owner answers with acceptReinvite or rejectReinvite. */
  | { kind: 'reinvite'; sessionId: string; offer: Body | null; peer: Peer }
  /** 2xx to our re-INVITE or UPDATE. `refresh`: it only renewed the session timer, with the last description that we sent. */
  | { kind: 'reinviteAnswered'; sessionId: string; body: Body | null; refresh: boolean }
  | { kind: 'reinviteRejected'; sessionId: string; status: number }
  /** The ACK for our 2xx to their re-INVITE. */
  | { kind: 'reinviteConfirmed'; sessionId: string; body: Body | null }
  /** The far end wants us to call somebody else (RFC 3515); the owner calls `answerRefer`, then `notifyRefer`. */
  | {
      kind: 'refer'
      sessionId: string
      referId: string
      to: string
      /** The dialog whose place that call takes; with its session where it is one of ours. */
      replaces: (NamedDialog & { sessionId: string | null }) | null
      referredBy: string | null
    }
  /** 2xx to our REFER. */
  | { kind: 'referAccepted'; sessionId: string; referId: string }
  /** How the far end gets on with our REFER, as a status of its target; `isOver`: nothing more is told, 408 where nothing was told. */
  | { kind: 'referProgress'; sessionId: string; referId: string; status: number; isOver: boolean }
  | { kind: 'info'; sessionId: string; contentType: string; body: Uint8Array }
  /** The last event of a session that did not end as `rejected`. */
  | {
      kind: 'ended'
      sessionId: string
      by: 'local' | 'remote'
      cause: EndCause
      /** The first Reason header as it came, and what all of them say. */
      reasonHeader: string | null
      reasons: readonly Reason[]
    }

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
  /** Values of Path (RFC 3327), the proxy nearest to us first. */
  path: string[]
  peer: Peer
}

export interface RegisterReply {
  status: number
  contacts: readonly RegisterContact[]
  /** With 423 [s]. */
  minExpiresS: number | null
  /** With 503 [s]. */
  retryAfterS: number | null
  /** With 200: what is kept of the Path (RFC 3327 §5.3). Absent: nothing. */
  path?: readonly string[]
}

/** A SUBSCRIBE or MESSAGE of a phone, as a REGISTER with a digest answer; the owner calls `checkAsk`, then `answerAsk`. */
export interface AskEvent {
  askId: string
  /** User of whom it is about, or for. */
  to: string
  username: string
  algorithm: DigestAlgorithm
  peer: Peer
  what:
    | {
        method: 'SUBSCRIBE'
        package: EventPackage
        /** The one that it refreshes or ends; null: a new one. */
        subscriptionId: string | null
        isEnd: boolean
      }
    | { method: 'MESSAGE'; text: string }
}

export interface AskReply {
  status: number
  /** With 503 [s]. */
  retryAfterS: number | null
  /** What a SUBSCRIBE is told at once, with 200. */
  state: PackageState | null
}

/** A text to a phone. */
export interface TextMessage {
  messageId: string
  to: string
  from: string
  target: Destination
  /** Route values. */
  route: readonly string[]
  text: string
}

/** How a text of ours ended: a final status of the far end, 408 when it said nothing, 503 when it could not be sent. */
export interface MessageReport {
  messageId: string
  sipCode: number
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
  target: Destination
  /** Further ones of the same far end, for when that one is silent, or says 503. */
  others?: readonly Destination[]
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
  | { kind: 'ask'; ask: AskEvent }
  /** It has run out, or its phone is gone. */
  | { kind: 'unsubscribed'; subscriptionId: string }
  | { kind: 'message'; report: MessageReport }
  /** A name is to be looked up; the owner calls `located` once, with what it found. */
  | { kind: 'locate'; locationId: string; target: Destination }

export interface OptionsStatus {
  status: number
  reason?: string
  retryAfterS?: number
}

export interface Credentials {
  username: string
  password: string
}

/** A new INVITE, before anything is remembered of it. */
export interface InviteAtTheDoor {
  requestUri: string
  /** All values of Authorization and Proxy-Authorization. */
  authorizations: readonly string[]
  peer: Peer
}

export interface InviteRefusal {
  status: number
  headers: HeaderFields
}

export interface UserAgentOptions {
  /** Goes into User-Agent and Server. */
  name: string
  /** The address of ours that is written into Via and Contact of what goes to a peer. */
  local: (to: Peer) => { host: string; port: number }
  /** An unguessable token of letters and digits, fresh on every call; at least 64 bits. */
  random: () => string
  timers?: Timers
  /** Above this many transactions new requests of strangers are refused with 503. Default 50,000. */
  maxTransactions?: number
  /** The answer to OPTIONS, so that an owner that drains can say 503. Default 200. */
  optionsStatus?: () => OptionsStatus
  /** Refuses a new INVITE without any state, or lets it in (null). Absent: every one comes in. */
  inviteDoor?: (invite: InviteAtTheDoor) => InviteRefusal | null
  /** Takes registrations for this realm; absent: REGISTER is answered 405. */
  registrarRealm?: string
  /** The smallest session interval that we accept (RFC 4028 §5) [s]. Default and floor 90. */
  minSessionExpiresS?: number
  /** The session interval that we ask for, in INVITEs, and in a 2xx where the caller only says that it can [s]. Absent: none. */
  sessionExpiresS?: number
}

export interface InviteRequest {
  /** The Request-URI and To. */
  to: string
  /** The From URI; its user part goes into Contact. */
  from: string
  displayName?: string
  /** A Route known before (a registration's Path, RFC 3327 §5.2): values, nearest first. */
  route?: readonly string[]
  /** Outbound proxy or resolved next hop; default: taken from the `to` URI. */
  target?: Destination
  /** See `Peer`; for what the `to` URI names. */
  publicOnly?: boolean
  /** The offer; absent: the other side offers in its 2xx and `acknowledge` answers. */
  body?: Body
  headers?: HeaderFields
  credentials?: Credentials
  /** Does not offer to acknowledge provisional responses (RFC 3262). */
  withoutReliable?: boolean
  /** Given up as 408 when not even a 100 has come by then, because there are others to ask [ms]. */
  patienceMs?: number
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
