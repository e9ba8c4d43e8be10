import { hash } from 'node:crypto'
import type {
  Action,
  AskEvent,
  Body,
  Counters,
  Credentials,
  Destination,
  HeaderFields,
  InviteRequest,
  MessageReport,
  NamedDialog,
  Peer,
  RegisterEvent,
  UaEvent,
  UserAgentOptions,
  WatchReport,
  WatchStatus,
} from './agent-types.ts'
import type { AnsweredChallenges } from './auth/digest.ts'
import { Nonces } from './auth/nonces.ts'
import { peerOfAddress } from './destination.ts'
import { type Dialog, type EarlyDialog, followPhone } from './dialog.ts'
import { formatResponse, type OutgoingRequest, type ResponseParts } from './message/format.ts'
import { canonicalName, type Headers, type SipRequest, toText } from './message/message.ts'
import { isDescription, partsOf } from './message/multipart.ts'
import { bracketed } from './message/uri.ts'
import type { Claimed, OpenAsk, SubscriptionBook } from './phones/phone-state.ts'
import { MIN_SESSION_EXPIRES_S, type SessionTimer } from './session-timer.ts'
import { type Deadline, Deadlines } from './transaction/deadlines.ts'
import { DEFAULT_TIMERS, type Timers } from './transaction/timers.ts'
import { type ClientTransaction, type ServerTransaction, Transactions } from './transaction/transactions.ts'

/** What is accepted inside of a call, which Allow tells in an INVITE and its answers (RFC 3261 §13.2.1). */
export const ALLOW = 'INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, UPDATE, PRACK, REFER, NOTIFY'
export const SUPPORTED = 'timer, 100rel, replaces, norefersub, tdialog'
export const ACCEPT_WITHOUT_KEYS = 'application/sdp, multipart/mixed'
export const ACCEPT = `${ACCEPT_WITHOUT_KEYS}, application/dtmf-relay, application/dtmf`

/** Maximum concurrent lookups; beyond that a destination counts as unreachable. */
const MAX_LOOKUPS = 10_000

/** Receives the addresses of a destination in the order to try them; empty: it leads nowhere. */
type Located = (ways: readonly Peer[], now: number) => void

/** A request with our copy of its topmost Via (RFC 3581 §4), and the address for its response. */
export interface Asked {
  readonly request: SipRequest
  readonly topVia: string
  readonly replyTo: Peer
}

/** A 2xx of ours, retransmitted until its ACK arrives (RFC 3261 §13.3.1.4). */
export interface AwaitedAck {
  cseq: number
  again: Deadline | null
  limit: Deadline | null
  /** The 2xx has an offer, and the ACK the answer. */
  isOurOffer: boolean
  confirmed: (answer: Body | null) => void
}

/** A reliable provisional response of ours (RFC 3262 §3). */
export interface UnacknowledgedProvisional {
  readonly rseq: number
  /** Of the INVITE. */
  readonly cseq: number
  readonly body: Body | null
  again: Deadline | null
  limit: Deadline | null
}

export type WantedProvisional = { status: number; body: Body | null; headers: HeaderFields }

/** The reliable provisional responses of one inbound call. */
export interface ReliableProvisionals {
  /** RSeq of the last one sent: it grows by one. */
  rseq: number
  /** Retransmitted until its PRACK arrives. */
  waiting: UnacknowledgedProvisional | null
  /** To be sent after that: the last response, and the last one with a description. */
  next: WantedProvisional | null
  /** Offer and answer were exchanged by one of them and its PRACK: an UPDATE may bring another offer (RFC 3311 §5.1). */
  isAgreed: boolean
  /** A PRACK whose offer the owner has not answered yet. */
  prack: ServerTransaction | null
  /** The 200, delayed while a description waits for its PRACK, or an offer for its answer (§3, §5). */
  whenSettled: ((now: number) => void) | null
}

/** Our INVITE while it has no final response. */
export interface OutgoingCall {
  readonly request: InviteRequest
  transaction: ClientTransaction | null
  invite: OutgoingRequest | null
  provisionalSeen: boolean
  /** Set if the call was given up before a provisional response allowed a CANCEL (RFC 3261 §9.1). */
  cancelHeaders: HeaderFields | null
  /** Header fields of its CANCEL, also for the BYE if it is answered all the same. */
  givenUpWith: HeaderFields | null
  /** To tags of its provisional responses, which Replaces may name. */
  readonly earlyTags: Set<string>
  /** Its dialogs before the answer, by the far end's tag. */
  early: ReadonlyMap<string, EarlyDialog>
  authenticated: number
}

/** Our re-INVITE, or UPDATE, from its first sending until its last final response. */
export interface OwnReinvite {
  method: 'INVITE' | 'UPDATE'
  readonly body: Body | null
  readonly refresh: boolean
  /** Our previous description, restored if this one is refused. */
  before: Body | null
  attempts: number
  /** Waiting after a 491, or for the Retry-After of a 500. */
  retry: Deadline | null
  transaction: ClientTransaction | null
}

/** Limits the requests of one call whose responses are kept for retransmissions. */
export interface Crowd {
  size: number
}

export interface Session {
  readonly id: string
  readonly role: 'uac' | 'uas'
  readonly callId: string
  readonly localTag: string
  /** User part of our Contact. */
  readonly user: string
  credentials: Credentials | null
  /** The only host that may get the credentials; null: any that challenges. */
  credentialsOf: string | null
  /**
   * inviting: no final response yet. answered: our 2xx waits for its ACK. confirmed: the ACK was sent or received. over: the last event
   * was emitted, and what remains on the wire is being finished.
   */
  phase: 'inviting' | 'answered' | 'confirmed' | 'over'
  dialog: Dialog | null
  incoming: ServerTransaction | null
  /** The owner has answered it, and will say with what, or refuse it: whoever gives up now comes too late. */
  isAnswering: boolean
  outgoing: OutgoingCall | null
  /** For an inbound call; null: none was sent. */
  reliable: ReliableProvisionals | null
  awaitedAck: AwaitedAck | null
  /** Whether a caller receives what we send; null: not known yet. */
  isReached: boolean | null
  /** Sends the ACK that carries the answer to an offer from a 2xx. */
  acknowledge: ((answer: Body | null, now: number) => void) | null
  /** Sends the PRACK that carries the answer to an offer from a provisional response. */
  acknowledgeEarly: ((answer: Body | null, now: number) => void) | null
  /** The BYE that waits for the ACK of our 2xx (RFC 3261 §15). */
  pendingBye: HeaderFields | null
  ownReinvite: OwnReinvite | null
  /** INFOs to be sent one by one, null: an OPTIONS; the first one is pending. */
  readonly inOrder: (Body | null)[]
  peerReinvite: ServerTransaction | null
  /** The limit of the far end's requests inside the call. */
  readonly crowd: Crowd
  /** The dialog of a `peerReinvite` that came before the answer to our call. */
  earlyUpdate: EarlyDialog | null
  localDescription: Body | null
  /** Whether the far end's last Allow names UPDATE (RFC 3311 §4); `never`: it does, but UPDATE was refused. */
  allowsUpdate: boolean | 'never'
  timer: SessionTimer | null
  /** Whether the far end knows of the timer: one that refuses a refresh without is there, and stays. */
  isTimerAgreed: boolean
  /** The largest Min-SE received in the dialog (RFC 4028 §7.4) [s]. */
  minSeS: number
  refreshAt: Deadline | null
  expireAt: Deadline | null
  /** Repeats the last provisional response every minute, so that proxies keep the call (RFC 3261 §13.3.1.1). */
  provisionalAt: Deadline | null
  answered: AnsweredChallenges
}

/** A REFER of the far end (RFC 3515), from its arrival until its result was reported. */
export interface PeerRefer {
  readonly id: string
  readonly session: Session
  /** The dialog of its NOTIFYs: the call's own, unless the REFER arrived beside it. */
  readonly dialog: Dialog
  /** For a second REFER in one dialog, the NOTIFYs identify it (RFC 3515 §2.4.6). */
  readonly eventId: string | null
  /** It wants no progress reports (RFC 4488). */
  readonly isSilent: boolean
  /** Until it is answered. */
  transaction: ServerTransaction | null
  expires: { at: number; deadline: Deadline } | null
  /** The last status that was reported. */
  told: number
  isNotifying: boolean
  /** The latest status while a NOTIFY is pending. */
  next: number | null
}

/** A REFER of ours, until its result is known. */
export interface OwnRefer {
  readonly id: string
  readonly session: Session
  cseq: number
  limit: Deadline | null
}

/** State of registrations: our realm, our nonces, and the requests that wait for the owner. */
export interface RegistrarState {
  readonly realm: string
  readonly nonces: Nonces
  readonly open: Map<string, Claimed>
}

/** State shared by all parts of the user agent: options, counters, transactions, sessions, and the list of actions. */
export class AgentCore {
  readonly options: UserAgentOptions
  readonly timers: Timers
  readonly minSessionExpiresS: number
  readonly deadlines = new Deadlines()
  readonly transactions: Transactions
  readonly sessions = new Map<string, Session>()
  /** Sessions by the INVITE to which a CANCEL may refer. */
  readonly byInvite = new WeakMap<ServerTransaction, Session>()
  /** Call-ID, From tag and CSeq of pending inbound INVITEs, to detect those that arrive over two paths (RFC 3261 §8.2.2.2). */
  readonly invites = new Set<string>()
  readonly counters: Counters = {
    malformed: 0,
    oversized: 0,
    unmatched: 0,
    retransmissionsSent: 0,
    retransmissionsReceived: 0,
    transactionsRefused: 0,
    keysRefused: 0,
    dropped: 0,
    requestsReceived: 0,
    responsesReceived: 0,
  }
  /** REFERs of far ends, by our ID. */
  readonly peerRefers = new Map<string, PeerRefer>()
  /** REFERs of ours, by the session's ID: one at a time. */
  readonly ownRefers = new Map<string, OwnRefer>()
  /** Null: registrations are not accepted. */
  readonly registrar: RegistrarState | null
  /** SUBSCRIBEs and MESSAGEs of phones that wait for the owner, by our ID. */
  readonly asks = new Map<string, OpenAsk>()
  subscriptions!: SubscriptionBook
  /** Credentials of our registrations, by the user part of their Contacts. */
  readonly accounts = new Map<string, Credentials>()
  /** The sender of the message being processed. */
  sender: Peer | null = null
  readonly #tagSecret: string
  readonly #byTag = new Map<string, Session>()
  readonly #lookups = new Map<string, Located>()
  readonly #reports = new Map<string, WatchReport>()
  #actions: Action[] = []

  constructor(options: UserAgentOptions) {
    this.options = options
    this.#tagSecret = options.random()
    this.timers = options.timers ?? DEFAULT_TIMERS
    this.minSessionExpiresS = Math.max(options.minSessionExpiresS ?? 0, MIN_SESSION_EXPIRES_S)
    this.registrar =
      options.registrarRealm === undefined
        ? null
        : { realm: options.registrarRealm, nonces: new Nonces(options.random, options.nonceKey), open: new Map() }
    this.transactions = new Transactions(this, options.maxTransactions ?? 50_000)
  }

  ask(ask: AskEvent): void {
    this.#actions.push({ kind: 'ask', ask })
  }

  unsubscribed(subscriptionId: string): void {
    this.#actions.push({ kind: 'unsubscribed', subscriptionId })
  }

  messageDone(report: MessageReport): void {
    this.#actions.push({ kind: 'message', report })
  }

  send(bytes: Uint8Array, to: Peer): void {
    this.#actions.push({ kind: 'send', bytes, to })
  }

  /** Resolves a destination; immediately if it is an address. */
  locate(target: Destination, then: Located, now: number): void {
    const peer = peerOfAddress(target)
    if (peer !== null) then([peer], now)
    else if (this.#lookups.size >= MAX_LOOKUPS) then([], now)
    else {
      const locationId = this.options.random()
      this.#lookups.set(locationId, then)
      this.#actions.push({ kind: 'locate', locationId, target })
    }
  }

  located(locationId: string, ways: readonly Peer[], now: number): void {
    const then = this.#lookups.get(locationId)
    this.#lookups.delete(locationId)
    then?.(ways, now)
  }

  emit(event: UaEvent): void {
    this.#actions.push({ kind: 'event', event })
  }

  /** Hands a registration to the owner. */
  register(register: RegisterEvent): void {
    this.#actions.push({ kind: 'register', register })
  }

  /** Updates the state of a watched far end; the owner is told about changes only. */
  report(watchId: string, status: WatchStatus, sipCode: number | null, serviceRoute: readonly string[] = []): void {
    const before = this.#reports.get(watchId)
    const isSameWay = (before?.serviceRoute ?? []).join() === serviceRoute.join()
    if (before?.status === status && before.sipCode === sipCode && isSameWay) return
    const report = { watchId, status, sipCode, ...(serviceRoute.length > 0 && { serviceRoute }) }
    this.#reports.set(watchId, report)
    this.#actions.push({ kind: 'watch', report })
  }

  unreport(watchId: string): void {
    this.#reports.delete(watchId)
  }

  /** The actions since the last call. */
  take(): Action[] {
    const actions = this.#actions
    this.#actions = []
    return actions
  }

  /** A branch that marks us as supporting RFC 3261 (§8.1.1.7). */
  branch(): string {
    return `z9hG4bK${this.options.random()}`
  }

  via(to: Peer, branch: string): string {
    const { host, port } = this.options.local(to)
    return `SIP/2.0/${to.transport.toUpperCase()} ${bracketed(host)}:${port};rport;branch=${branch}`
  }

  /** Our address for a far end. `isSips`: of a call for `sips:`, whose far end may refuse any other; `transport=tls` does not go with it (RFC 5630 §3.1.3). */
  contact(to: Peer, user: string, isSips = false): string {
    const { host, port } = this.options.local(to)
    const { transport } = to
    const at = user === '' ? '' : `${user}@`
    const isImplied = isSips || transport === 'udp'
    return `<${isSips ? 'sips' : 'sip'}:${at}${bracketed(host)}:${port}${isImplied ? '' : `;transport=${transport}`}>`
  }

  contactIn({ peer, isSips }: Pick<Dialog, 'peer' | 'isSips'>, user: string): string {
    return this.contact(peer, user, isSips)
  }

  /** A number from 0 to below 1, from the owner's randomness. */
  fraction(): number {
    let hash = 0x811c9dc5
    for (const char of this.options.random()) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
    return (hash >>> 0) / 2 ** 32
  }

  /** See `followPhone`. */
  phoneMoved(from: Peer, to: Peer): void {
    for (const { dialog, outgoing } of this.sessions.values()) {
      if (dialog !== null) followPhone(dialog, from, to)
      for (const early of outgoing?.early.values() ?? []) followPhone(early.dialog, from, to)
    }
    this.subscriptions.phoneMoved(from, to)
  }

  respond(transaction: ServerTransaction, { headers = [], ...parts }: ResponseParts, now: number): Uint8Array | null {
    const server = ['Server', this.options.name] as const
    return this.transactions.respond(transaction, { headers: [server, ...headers], ...parts }, now)
  }

  /** A refusal outside of any session: To gets a tag of its own. */
  refuse(transaction: ServerTransaction, status: number, now: number, headers: HeaderFields = []): void {
    this.respond(transaction, { status, toTag: this.options.random(), headers }, now)
  }

  /**
   * Answers a request statelessly (RFC 3261 §8.2.7): a retransmission gets the same answer, with the same tag. So requests that need no
   * memory cannot fill the transaction table.
   */
  answer(asked: Asked, parts: Omit<ResponseParts, 'toTag'>): void {
    const { request, topVia, replyTo } = asked
    const server = ['Server', this.options.name] as const
    const headers = [server, ...(parts.headers ?? [])]
    this.send(formatResponse(request, topVia, { ...parts, headers, toTag: this.#tagOf(request) }), replyTo)
  }

  #tagOf({ via, callId, from, cseq }: SipRequest): string {
    const what = `${via.branch ?? ''}\n${callId}\n${from.tag ?? ''}\n${cseq.number} ${cseq.method}`
    return hash('sha256', `${this.#tagSecret}\n${what}`).slice(0, 20)
  }

  add(session: Session): void {
    this.sessions.set(session.id, session)
    this.#byTag.set(`${session.callId}\n${session.localTag}`, session)
  }

  forget(session: Session): void {
    this.sessions.delete(session.id)
    this.#byTag.delete(`${session.callId}\n${session.localTag}`)
  }

  /** The session whose dialog a request belongs to (RFC 3261 §12.2.2). */
  find(request: SipRequest): Session | null {
    const session = this.#byTag.get(`${request.callId}\n${request.to.tag}`) ?? null
    const { tag } = request.from
    if (session?.dialog != null) return session.dialog.remoteTag === tag ? session : null
    return tag !== null && session?.outgoing?.early.has(tag) === true ? session : null
  }

  /** The session whose dialog is named to us; `toTag` is our tag (RFC 3891 §3). */
  findNamed({ callId, toTag, fromTag }: Pick<NamedDialog, 'callId' | 'toTag' | 'fromTag'>): Session | null {
    const session = this.#byTag.get(`${callId}\n${toTag}`)
    if (session === undefined) return null
    const isIt =
      session.dialog === null ? session.outgoing?.earlyTags.has(fromTag) : session.dialog.remoteTag === fromTag
    return isIt === true ? session : null
  }
}

type SessionSeed = Pick<Session, 'role' | 'callId' | 'user'> & { credentials: Credentials | null }

export function newSession(core: AgentCore, seed: SessionSeed): Session {
  return {
    id: core.options.random(),
    localTag: core.options.random() + (core.options.tagMark ?? ''),
    credentialsOf: null,
    phase: 'inviting',
    dialog: null,
    incoming: null,
    isAnswering: false,
    outgoing: null,
    reliable: null,
    awaitedAck: null,
    isReached: null,
    acknowledge: null,
    acknowledgeEarly: null,
    pendingBye: null,
    ownReinvite: null,
    inOrder: [],
    peerReinvite: null,
    crowd: { size: 0 },
    earlyUpdate: null,
    localDescription: null,
    allowsUpdate: false,
    timer: null,
    isTimerAgreed: false,
    minSeS: MIN_SESSION_EXPIRES_S,
    refreshAt: null,
    expireAt: null,
    provisionalAt: null,
    answered: new Map(),
    // The spread comes last: V8 would add properties after it one by one, which takes 26 µs instead of 1 for this many.
    ...seed,
  }
}

/** Gives the owner of an event access to its headers by name. */
export function headerReader(headers: Headers): (name: string) => string | null {
  return name => {
    const value = headers.get(canonicalName(name))
    return value === null ? null : toText(value)
  }
}

/** The description in a message's body, alone or beside other parts (RFC 5621 §3.1); null: it has none. */
export function bodyOf(message: { headers: Headers; body: Uint8Array }): Body | null {
  if (message.body.length === 0) return null
  const part = partsOf(message.headers, message.body).find(isDescription)
  return part === undefined ? null : { type: part.type ?? 'application/sdp', bytes: part.bytes }
}
