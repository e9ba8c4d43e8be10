import type { DigestAlgorithm } from './auth/digest-algorithm.ts'
import type { NonceKey } from './auth/nonces.ts'
import type { DtmfInfo } from './dtmf-info.ts'
import type { ReceivedIdentity } from './identity/received.ts'
import type { Redirect } from './identity/redirects.ts'
import type { Reason } from './message/reason.ts'
import type { EventPackage, PackageState } from './phones/packages.ts'
import type { Timers } from './transaction/timers.ts'

/** `ws` and `wss`: a WebSocket opened by the client (RFC 7118); we never connect that way. */
export type Transport = 'udp' | 'tcp' | 'tls' | 'ws' | 'wss'

/** Source or destination of bytes: an address, not a name. */
export interface Peer {
  transport: Transport
  host: string
  port: number
  /** Which of our own addresses it reached, or is to be used for sending; absent: any of its family. */
  local?: string
  /** The transport is not prescribed: a message too large for a datagram uses TCP (RFC 3261 §18.1.1). */
  isTransportOpen?: boolean
  /** The name that led to this address, which the certificate must match (RFC 5922 §7.2). */
  name?: string
  /** Identifies an open connection. It is reused while open; otherwise the sender connects to host and port. */
  connectionId?: string
  /** The far end opened the connection, and may accept none itself. */
  isTheirs?: boolean
  /** It was named by a party on a public network, so the owner sends to no private address for it. */
  publicOnly?: boolean
  /**
   * It is a trusted proxy. `origin`: the sender it names, null: it names none. `proven`: it is a node of ours, which has passed the INVITE on,
   * and this is the account that the caller has proven there; null: none. `joins`: the node itself calls, for this account's transfer.
   */
  proxy?: { origin: string | null; proven?: string | null; joins?: true }
  /** The owner knows this peer (a trunk, a registered phone): capacity is reserved for it when strangers flood us. */
  isKnown?: boolean
}

/**
 * The destination of a request, as a URI or a setting names it. Null: not specified; DNS decides (RFC 3263 §4), or for an address the
 * default does: UDP and port 5060, over TLS 5061.
 */
export interface Destination {
  transport: Transport | null
  /** A name, or an address. */
  host: string
  port: number | null
  /** For `sips:`: every way must use TLS. */
  secure?: boolean
  /** As in `Peer`, for a destination that was looked up before. */
  connectionId?: string
  local?: string
  publicOnly?: boolean
  isTransportOpen?: boolean
  name?: string
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

/** The first value of a header of the message behind an event, by its full name in any case; null if absent. */
export type HeaderReader = (name: string) => string | null

/** A caller's support of reliable provisional responses (RFC 3262): required, supported, or null: not supported. */
export type ReliabilityOfCaller = 'required' | 'supported' | null

/** Whether reliable ones are sent to callers that support them, or only to those that require them. */
export type ReliabilityPolicy = 'when_supported' | 'when_required'

/** Identifies a dialog (RFC 3891 §6.1): `toTag` is the tag of the receiver of Replaces, `fromTag` that of its far end. */
export interface NamedDialog {
  callId: string
  toTag: string
  fromTag: string
  /** It may only be replaced while it is unanswered. */
  earlyOnly: boolean
}

export type EndCause =
  | 'bye'
  | 'cancel'
  /** We refused the inbound call. */
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
      /** The caller's support of reliable provisional responses: only these can carry an offer of ours. */
      reliability: ReliabilityOfCaller
      peer: Peer
      /** The session that the call is to replace (RFC 3891); the permission is not checked yet. */
      replaces?: string
    }
  /** Our 200 to the inbound INVITE is sent: from now on a CANCEL has no effect (RFC 3261 §9.2). */
  | { kind: 'accepted'; sessionId: string }
  /** A PRACK with a description: the answer to the offer in our provisional response, or an offer, which `answerPrack` answers. */
  | { kind: 'prack'; sessionId: string; body: Body; isOffer: boolean }
  /**
   * 101 to 199 to our INVITE. `tag`: of its dialog; a forked call has several. `isOffer`: `acknowledgeEarly` answers it, since
   * our INVITE had no offer.
   */
  | {
      kind: 'provisional'
      sessionId: string
      status: number
      body: Body | null
      isOffer: boolean
      tag: string | null
      /** P-Early-Media of networks on the way (RFC 5009); null: none. */
      earlyMedia: 'allowed' | 'denied' | null
      peer: Peer
      /** The session that the call is to replace (RFC 3891); the permission is not checked yet. */
      replaces?: string
    }
  /**
   * 2xx to our INVITE. If we sent an offer, `body` is the answer and the ACK is sent already. Otherwise `body`
   * is the offer and the owner calls `acknowledge` with the answer, unless a provisional response brought it before.
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
      /** For a 3xx: URIs of its Contacts, most preferred first. */
      contacts: readonly string[]
      /** For a 3xx: whom the call was for before, in its own words (RFC 5806 §6.3). */
      redirects: readonly Redirect[]
      /** The contents of its Reason headers. */
      reasons: readonly Reason[]
      header: HeaderReader
    }
  /** The ACK for our 2xx; `body` is the answer when the offer was ours. */
  | { kind: 'confirmed'; sessionId: string; body: Body | null }
  /** A caller acknowledges neither our answer nor our reliable ringing, sent three times; `isOver`: now it has. */
  | { kind: 'unacknowledged'; sessionId: string; isOver: boolean }
  /** The other side sent a re-INVITE, or an UPDATE with an offer; the owner answers with acceptReinvite or rejectReinvite. */
  | { kind: 'reinvite'; sessionId: string; offer: Body | null; peer: Peer }
  /** 2xx to our re-INVITE or UPDATE. `refresh`: it only renewed the session timer, with the last description that we sent. */
  | { kind: 'reinviteAnswered'; sessionId: string; body: Body | null; refresh: boolean }
  | { kind: 'reinviteRejected'; sessionId: string; status: number }
  /** The ACK for our 2xx to their re-INVITE. */
  | { kind: 'reinviteConfirmed'; sessionId: string; body: Body | null }
  /** The far end asks us to call somebody else (RFC 3515); the owner calls `answerRefer`, then `notifyRefer`. */
  | {
      kind: 'refer'
      sessionId: string
      referId: string
      to: string
      /** The dialog that the call is to replace; with its session if it is one of ours. */
      replaces: (NamedDialog & { sessionId: string | null }) | null
      /** User-to-user information (RFC 7433) for who is called. */
      userToUser: string | null
      /** A URI; null: not stated, or private. */
      referredBy: string | null
    }
  /** 2xx to our REFER. */
  | { kind: 'referAccepted'; sessionId: string; referId: string }
  /** Progress of our REFER, as a status of its target; `isOver`: nothing more is reported; 408 if nothing was. */
  | { kind: 'referProgress'; sessionId: string; referId: string; status: number; isOver: boolean }
  | { kind: 'info'; sessionId: string; key: DtmfInfo }
  /** The far end has answered what `checkPresence` has asked. */
  | { kind: 'present'; sessionId: string }
  /** The last event of a session that did not end as `rejected`. */
  | {
      kind: 'ended'
      sessionId: string
      by: 'local' | 'remote'
      cause: EndCause
      /** The first Reason header as it came, and what all of them say. */
      reasonHeader: string | null
      reasons: readonly Reason[]
      /** Header of the far end's BYE or CANCEL, if that has ended it. */
      header: HeaderReader
    }

/** A contact of a REGISTER, with the requested or remaining time. `*`: all of them. */
export interface RegisterContact {
  uri: string
  expiresS: number
  /** Instance and `reg-id` of the phone's flow (RFC 5626 §4.2): the next registration with the same ones replaces it. */
  flow?: { instance: string; regId: number }
}

/** What a contact has in common with later ones of the same phone: its instance (RFC 5626 §4.1), else its user and host. */
export interface Binding {
  phone: string
  /** Its Contact. */
  uri: string
  /** The `reg-id` of an instance. */
  regId?: number
}

/** A nonce of ours with the count of its use (RFC 7616 §3.4): each is used once. */
interface NonceUse {
  value: string
  count: number
}

/** A REGISTER with a digest answer to a fresh challenge of ours; the owner calls `checkRegister`, then `answerRegister`. */
export interface RegisterEvent {
  registerId: string
  /** The address-of-record. */
  user: string
  host: string
  contacts: RegisterContact[]
  /** Bindings of the contacts that remain. */
  bindings: Binding[]
  /** The user named in the digest, and its hash algorithm. */
  username: string
  realm: string
  algorithm: DigestAlgorithm
  nonce: NonceUse
  callId: string
  cSeq: number
  /** Values of Path (RFC 3327), the proxy nearest to us first. */
  path: string[]
  peer: Peer
}

export interface RegisterReply {
  /** 401: challenged again, because the nonce was used elsewhere. */
  status: number
  contacts: readonly RegisterContact[]
  /** With 423 [s]. */
  minExpiresS: number | null
  /** With 503 [s]. */
  retryAfterS: number | null
  /** With 200: the accepted part of the Path (RFC 3327 §5.3). Absent: none. */
  path?: readonly string[]
}

/** A SUBSCRIBE or MESSAGE of a phone, with a digest answer like a REGISTER; the owner calls `checkAsk`, then `answerAsk`. */
export interface AskEvent {
  askId: string
  /** User part of the target. */
  to: string
  username: string
  algorithm: DigestAlgorithm
  nonce: NonceUse
  peer: Peer
  what:
    | {
        method: 'SUBSCRIBE'
        package: EventPackage
        /** The subscription that it refreshes or ends; null: a new one. */
        subscriptionId: string | null
        isEnd: boolean
      }
    | { method: 'MESSAGE'; text: string }
}

export interface AskReply {
  /** 401: as of a `RegisterReply`. */
  status: number
  /** With 503 [s]. */
  retryAfterS: number | null
  /** The first state for a SUBSCRIBE, with 200. */
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

/** The result of a text of ours: a final status of the far end, 408 for no answer, 503 if it could not be sent. */
export interface MessageReport {
  messageId: string
  sipCode: number
}

/** A far end at which we register (`register`), or that we check by OPTIONS (`ping`), until stopped. */
export interface Watch {
  watchId: string
  kind: 'register' | 'ping'
  /** The Request-URI: the registrar, or the far end to check. */
  uri: string
  /** From; with `register` To as well: the address-of-record. */
  from: string
  /** User part of our Contact. */
  contactUser: string
  target: Destination
  /** Further targets of the same far end, for when the first is silent or answers 503. */
  others?: readonly Destination[]
  credentials: Credentials | null
}

/** Watches one far end until it is stopped. */
export interface Watching {
  readonly watch: Watch
  start(now: number): void
  /** A connection that we opened is closed, possibly the one of this registration. */
  disconnected?(from: Peer, now: number): void
  /** Idempotent until it reports its end. */
  stop(now: number): void
}

export type WatchStatus = 'registered' | 'reachable' | 'unreachable'

/** Reports a change. `sipCode`: the far end's answer, or 408 and 503 without one; null: none. */
export interface WatchReport {
  watchId: string
  status: WatchStatus
  sipCode: number | null
  /** The registrar wants calls to take this way (RFC 3608): Route values, the nearest first. Absent: none. */
  serviceRoute?: readonly string[]
}

export type Action =
  | { kind: 'send'; bytes: Uint8Array; to: Peer }
  | { kind: 'event'; event: UaEvent }
  | { kind: 'register'; register: RegisterEvent }
  | { kind: 'watch'; report: WatchReport }
  | { kind: 'ask'; ask: AskEvent }
  /** It has expired, or its phone has gone. */
  | { kind: 'unsubscribed'; subscriptionId: string }
  | { kind: 'message'; report: MessageReport }
  /** A name is to be looked up; the owner calls `located` once with the result. */
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

/** A new INVITE, before any state is created for it. */
export interface InviteAtTheDoor {
  requestUri: string
  /** All values of Authorization and Proxy-Authorization. */
  authorizations: readonly string[]
  header: HeaderReader
  peer: Peer
}

export interface InviteRefusal {
  status: number
  headers: HeaderFields
}

export interface UserAgentOptions {
  /** Goes into User-Agent and Server. */
  name: string
  /** Our address for Via and Contact of messages to a peer. */
  local: (to: Peer) => { host: string; port: number }
  /** An unguessable token of letters and digits, fresh on every call; at least 64 bits. */
  random: () => string
  /** Ends the tags of our dialogs, for whoever has to know whose they are. Absent: they are random alone. */
  tagMark?: string
  timers?: Timers
  /** Above this many transactions new requests of strangers are refused with 503. Default 50,000. */
  maxTransactions?: number
  /** The status for OPTIONS, so that a draining owner can answer 503. Default 200. */
  optionsStatus?: () => OptionsStatus
  /** Refuses a new INVITE statelessly, or accepts it (null). Absent: every one is accepted. */
  inviteDoor?: (invite: InviteAtTheDoor) => InviteRefusal | null
  /** Whether keys may come by INFO in this session; otherwise such an INFO is refused with 415. Absent: in every one. */
  takesKeys?: (sessionId: string) => boolean
  /** Accepts registrations for this realm; absent: REGISTER is answered 405. */
  registrarRealm?: string
  /** Shared with other nodes, where a phone may answer the challenge of one at another. Absent: at this one alone. */
  nonceKey?: NonceKey
  /** The smallest session interval that we accept (RFC 4028 §5) [s]. Default and floor 90. */
  minSessionExpiresS?: number
  /** The session interval requested in INVITEs, and in a 2xx if the caller only declares support [s]. Absent: none. */
  sessionExpiresS?: number
}

export interface InviteRequest {
  /** The Request-URI and To. */
  to: string
  /** The From URI; its user part goes into Contact. */
  from: string
  displayName?: string
  /** A preloaded Route (a registration's Path, RFC 3327 §5.2): values, nearest first. */
  route?: readonly string[]
  /** Outbound proxy or resolved next hop; default: taken from the `to` URI. */
  target?: Destination
  /** See `Peer`; for the target of the `to` URI. */
  publicOnly?: boolean
  /** The offer; absent: the other side offers in its 2xx and `acknowledge` answers. */
  body?: Body
  headers?: HeaderFields
  credentials?: Credentials
  /** How many elements may pass it on (RFC 3261 §20.22), 0 to 255. Default 70. */
  maxForwards?: number
  /** Does not offer reliable provisional responses (RFC 3262). */
  withoutReliable?: boolean
  /** Given up as 408 if not even a 100 has arrived by then, because there are other targets [ms]. */
  patienceMs?: number
}

export interface Counters {
  /** Unparseable messages, answered 400 where possible, dropped otherwise. */
  malformed: number
  /** Messages over the size bounds. */
  oversized: number
  /** Responses, ACKs and CANCELs that match nothing. */
  unmatched: number
  retransmissionsSent: number
  retransmissionsReceived: number
  /** Requests refused because `maxTransactions` was reached. */
  transactionsRefused: number
  /** INFOs whose body names no key, answered 400, or that came where keys come in another way, answered 415. */
  keysRefused: number
  /** Messages that could not be answered and were thrown away. */
  dropped: number
  requestsReceived: number
  responsesReceived: number
}
