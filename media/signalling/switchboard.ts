import type { NonceKey } from '../../sip/auth/nonces.ts'
import { DTMF_RELAY, type DtmfInfo, formatDtmfInfo } from '../../sip/dtmf-info.ts'
import type { Body, InviteAtTheDoor, InviteRefusal, UaEvent } from '../../sip/user-agent.ts'
import type { Threads } from '../engine/threads/threads.ts'
import type { Signer } from '../identity/signer.ts'
import type { Verifier } from '../identity/verifier.ts'
import type { DialledLegs } from '../kernel/dialled-legs.ts'
import type { OwnAddresses } from '../kernel/own-addresses.ts'
import type {
  DialTarget,
  EndedReason,
  Events,
  Failure,
  LegSnapshot,
  MediaEvent,
  RefusalLog,
  Reply,
  Request,
  Verification,
} from '../protocol.ts'
import type { SipTrace } from '../tracing/sip-trace.ts'
import { Admission, type AdmissionOptions } from './admission.ts'
import { CallPace } from './call-pace.ts'
import { Callers } from './callers.ts'
import { CallsIn } from './calls-in.ts'
import { CallsOut } from './calls-out.ts'
import { causeOfFarEnd, causeOfOurs, fieldsOfReason } from './causes.ts'
import { Descriptions } from './descriptions.ts'
import type { SipEndpoint } from './endpoint/sip-endpoint.ts'
import type { FarEnds } from './far-ends.ts'
import { Faxes } from './faxes.ts'
import { userToUser } from './invitation.ts'
import { type Line, type MayReach, passedOn, statusOfReason } from './line.ts'
import { Lines, notFound } from './lines.ts'
import { Redirects } from './redirects.ts'
import { Replacing } from './replacing.ts'
import { Transfers } from './transfers.ts'
import type { Sign } from './ways.ts'

/** Reasons that mean that the other party has hung up. */
const LEFT: ReadonlySet<EndedReason> = new Set<EndedReason>(['caller_hangup', 'agent_hangup'])

export const NO_CAPACITY: Failure = { failure: 'capacity', message: 'no call capacity right now' }

export interface SwitchboardOptions {
  threads: Pick<Threads, 'place'>
  addresses: OwnAddresses
  maxCalls: number
  /** SHA-256 of our certificate, for browsers; absent: there is no WebRTC. */
  fingerprint?: string
  /** The contact that a call may be for. */
  farEnds: Pick<FarEnds, 'byContact'>
  /** Keeps what passes for each leg. */
  trace: Pick<SipTrace, 'claim' | 'end'>
  /** Verifies and makes signatures of calls; absent: none. */
  verifier?: Pick<Verifier, 'verify'> | null
  signer?: Pick<Signer, 'sign'> | null
  /** Shared with other nodes; absent: no other node knows our challenges. */
  nonceKey?: NonceKey
  /** Measures of lateness; absent: control is always there, no clock is late, and there are no legs but these. */
  lateness?: Partial<AdmissionOptions>
  emit: (event: MediaEvent) => void
  /** Notes whose INVITE leaves; absent: the next process cannot know. */
  dialled?: Pick<DialledLegs, 'note'>
  /** Tells the operator of callers for whom there is no room; absent: nobody is told. */
  refusals?: Pick<RefusalLog, 'note'>
  /** Something threw, and this leg is ended for it. */
  fault: (error: unknown, legId: string) => void
}

/**
 * Joins signalling and audio on the main thread: SIP sessions on one side, engine threads on the other, one `Line` for
 * each leg. Whatever happens to a line, exactly one `leg.ended` follows its `leg.incoming` or `leg.dial`.
 */
export class Switchboard {
  /** Handlers that threw; each ended its leg. */
  faults = 0
  readonly #options: SwitchboardOptions
  readonly #lines: Lines
  readonly #descriptions: Descriptions
  readonly #callers: Callers
  readonly #admission: Admission
  readonly #in: CallsIn
  readonly #out: CallsOut
  readonly #replacing: Replacing
  readonly #faxes: Faxes
  /** Calls that are passed on. */
  readonly transfers: Transfers
  /** Far ends that name others to call. */
  readonly redirects: Redirects
  #sip!: SipEndpoint

  constructor(options: SwitchboardOptions) {
    const { threads, emit, addresses, maxCalls, farEnds, trace, verifier = null, signer = null } = options
    this.#options = options
    this.#lines = new Lines({
      ...{ threads, emit, trace },
      callIdOf: sessionId => this.#sip.callIdOf(sessionId),
      broke: (line, error) => this.#broke(line, line.sessionId, error),
    })
    const lines = this.#lines
    const sip = () => this.#sip
    const hangup = ({ legId }: Line, reason: EndedReason) => void this.hangup({ legId, reason })
    const mayReach: MayReach = (peer, host) => this.#sip.mayReach(peer, host)
    const descriptions = new Descriptions({
      sip,
      mayReach,
      fingerprint: options.fingerprint ?? null,
      hangup,
      emit: (name, body) => lines.emit(name, body),
    })
    this.#descriptions = descriptions
    const sign: Sign = async ({ identity }, received = []) =>
      identity?.sign === undefined || signer === null ? [] : signer.sign(identity.sign, received)
    const callers = new Callers({ farEnds, now: () => performance.now(), nonceKey: options.nonceKey })
    this.#callers = callers
    const admission = new Admission({
      controlSince: () => 0,
      clocks: () => ({ slots: 0, late: 0, inSlotsMs: [0] }),
      now: () => performance.now(),
      legs: () => lines.byLeg.size,
      ...options.lateness,
    })
    this.#admission = admission
    const { refusals = { note() {} }, dialled = { note() {} } } = options
    this.#in = new CallsIn({
      ...{ lines, addresses, descriptions, maxCalls, farEnds, callers, sip, verifier, admission, refusals },
    })
    const pace = new CallPace({ now: () => performance.now(), later: setTimeout })
    const redirects = new Redirects(lines)
    this.redirects = redirects
    this.#out = new CallsOut({ lines, addresses, descriptions, sip, hangup, sign, pace, redirects, dialled })
    this.#replacing = new Replacing({ lines, addresses, descriptions, sip, sign, pace, redirects })
    this.#faxes = new Faxes({ lines, descriptions, sip, mayReach })
    this.transfers = new Transfers({ lines, replacing: this.#replacing, sip })
  }

  /** The endpoint needs the switchboard's handler to exist, so it comes second. */
  attach(sip: SipEndpoint): void {
    this.#sip = sip
  }

  get lines(): ReadonlyMap<string, Line> {
    return this.#lines.byLeg
  }

  get draining(): boolean {
    return this.#in.draining
  }

  /** New calls are refused from now on. */
  drain(): void {
    this.#in.draining = true
  }

  /** To be called every `LOOK_MS`: how late the engine threads are. */
  lookAtClocks(): void {
    this.#admission.look()
  }

  /** Whether the engine threads have no time for one more call. */
  get isEngineFull(): boolean {
    return this.#admission.isEngineFull
  }

  /** Whether a page may connect. A softphone that does is no call yet. */
  takesPage(use: Events['browser.connecting']['use']): boolean {
    return !this.draining && !(use === 'call' && this.isEngineFull)
  }

  /** Calls refused with 503. */
  get refused(): number {
    return this.#in.refused
  }

  /** Number of calls of strangers that were refused without telling control. */
  get strangersRefused(): number {
    return this.#callers.refused
  }

  // ------------------------------------------------------------------ from SIP

  /** The refusal of an INVITE before any state exists for it; null: it is accepted. */
  atTheDoor(invite: InviteAtTheDoor): InviteRefusal | null {
    const isPassedOn = invite.peer.proxy?.proven !== undefined
    return (isPassedOn ? null : this.#callers.atTheDoor(invite)) ?? this.#in.atTheDoor(invite)
  }

  /** A handler that throws ends only its own call. */
  onSip(event: UaEvent): void {
    const line = this.#lines.ofSession(event.sessionId)
    try {
      if (event.kind === 'incoming') this.#in.incoming(event)
      else if (this.#replacing.takes(event)) return
      else if (line !== undefined) this.#inSession(line, event)
    } catch (error) {
      this.#broke(this.#lines.ofSession(event.sessionId), event.sessionId, error)
    }
  }

  #broke(line: Line | undefined, sessionId: string, error: unknown): void {
    this.faults++
    this.#options.fault(error, line?.legId ?? '')
    if (line === undefined) this.#in.refuse(sessionId, 500, null)
    else void this.hangup({ legId: line.legId, reason: 'internal_error' })
  }

  #inSession(line: Line, event: Exclude<UaEvent, { kind: 'incoming' }>): void {
    switch (event.kind) {
      case 'provisional':
        this.#out.provisional(line, event)
        break
      case 'prack':
        this.#lines.beside(line, this.#descriptions.acknowledged(line, event.body, event.isOffer))
        break
      case 'answered':
        line.peer = event.peer
        this.#lines.tellOther(line, userToUser(event.header))
        this.#lines.beside(line, this.#descriptions.answered(line, event.body))
        break
      case 'accepted':
        this.#in.accepted(line)
        break
      case 'confirmed':
        this.#confirmed(line, event.body)
        break
      case 'unacknowledged':
        void line.engine?.request('leg.withhold', { legId: line.legId, isWithheld: !event.isOver })
        break
      case 'reinvite':
        line.peer = event.peer
        if (this.#faxes.offered(line, event.offer)) break
        this.#lines.beside(line, this.#descriptions.reinvited(line, event.offer))
        break
      case 'reinviteConfirmed':
        if (event.body !== null) this.#lines.beside(line, this.#descriptions.lateAnswer(line, event.body))
        this.#descriptions.tellHold(line)
        break
      case 'reinviteAnswered':
        if (this.#faxes.answered(line, event.body)) break
        this.#lines.beside(line, this.#descriptions.holdAnswered(line, event.body))
        break
      case 'reinviteRejected':
        if (this.#faxes.answered(line, null)) break
        this.#descriptions.holdRefused(line)
        break
      case 'info':
        this.#info(line, event.key)
        break
      case 'present':
        void line.engine?.request('leg.present', { legId: line.legId })
        break
      case 'refer':
        this.transfers.asked(line, event)
        break
      case 'referAccepted':
        this.transfers.accepted(event)
        break
      case 'referProgress':
        this.transfers.progress(event)
        break
      case 'rejected':
        this.#out.refused(line, event)
        break
      case 'ended':
        this.#admission.isOver(line.legId)
        this.#faxes.left(line)
        if (event.cause === 'bye' && event.by === 'remote') {
          if (this.#replacing.outlives(line, causeOfFarEnd(event.reasons, null))) break
        }
        this.transfers.ended(line, event)
        if (event.by === 'remote') line.cause = causeOfFarEnd(event.reasons, null)
        if (event.by === 'remote' && event.cause === 'bye') this.#lines.tellOther(line, userToUser(event.header))
        void this.#lines.finish(
          line,
          line.endReason ?? reasonOfEnd(event),
          event.cause === 'rejected' ? line.refusedWith : null,
        )
        break
    }
  }

  #confirmed(line: Line, answer: Body | null): void {
    if (line.state === 'answered' && answer !== null) {
      this.#lines.beside(line, this.#descriptions.lateAnswer(line, answer))
    }
    // Our offer was in the 200, so its answer must be here (RFC 3261 §13.2.1): without one there is no audio, and never will be.
    else if (line.state === 'answered' && line.room !== null) {
      void this.hangup({ legId: line.legId, reason: 'codec_mismatch' })
    }
    this.#descriptions.tellHold(line)
  }

  /** Whether the far end's keys may come by INFO. */
  takesKeys(sessionId: string): boolean {
    const { dtmf = 'auto' } = this.#lines.ofSession(sessionId) ?? {}
    return dtmf === 'auto' || dtmf === 'info'
  }

  #info({ engine, legId }: Line, { digit: key, durationMs }: DtmfInfo): void {
    void engine?.request('leg.key', { legId, key, source: 'info', durationMs })
  }

  // ------------------------------------------------------------------ commands

  /** Sets the networks of connections and phones, and how all others are treated. */
  know({ networks, strangers }: Request<'sources.set'>): void {
    this.#sip.know(networks)
    this.#callers.strangers = strangers
  }

  answer(request: Request<'leg.answer'>): Promise<LegSnapshot | Failure> {
    return this.#in.answer(request)
  }

  ring(request: Request<'leg.ring'>): Promise<Reply<'leg.ring'> | Failure> {
    return this.#in.ring(request)
  }

  reject(request: Request<'leg.reject'>): Reply<'leg.reject'> | Failure {
    return this.#in.reject(request)
  }

  verify(request: Request<'leg.verify'>): Promise<Verification | Failure> {
    return this.#in.verify(request)
  }

  passOn(request: Request<'leg.pass_on'>): Promise<Reply<'leg.pass_on'> | Failure> {
    return this.#in.passOn(request)
  }

  challenge(request: Request<'leg.challenge'>): Reply<'leg.challenge'> | Failure {
    return this.#in.challenge(request)
  }

  checkCaller(request: Request<'leg.check_caller'>): Reply<'leg.check_caller'> | Failure {
    return this.#in.checkCaller(request)
  }

  async dial(request: Request<'leg.dial'> & { target: DialTarget }): Promise<LegSnapshot | Failure> {
    const { callerLegId } = request
    if (callerLegId !== undefined) this.#admission.isTaken(callerLegId)
    const target = this.#sip.nodes.throughNode(request.target)
    return this.#fullFor(request.legId) ?? this.#out.dial({ ...request, target })
  }

  reserve({ legId }: Request<'leg.reserve'>): Reply<'leg.reserve'> | Failure {
    const full = this.#fullFor(legId)
    if (full === null) this.#lines.reserve(legId)
    return full ?? {}
  }

  release({ legId }: Request<'leg.release'>): Reply<'leg.release'> {
    this.#lines.release(legId)
    return {}
  }

  isReserved(legId: string): boolean {
    return this.#lines.isReserved(legId)
  }

  #fullFor(legId: string): Failure | null {
    const hasPlace = this.isReserved(legId) || this.#lines.taken < this.#options.maxCalls
    return hasPlace ? null : NO_CAPACITY
  }

  replace(request: Request<'leg.replace'>): Promise<Reply<'leg.replace'> | Failure> {
    this.#admission.isTaken(request.byLegId)
    return this.#replacing.replace(request)
  }

  /** The reply follows the event that reports the end. */
  async hangup(request: Request<'leg.hangup'>): Promise<Reply<'leg.hangup'> | Failure> {
    const line = this.#lines.get(request.legId)
    if (line === undefined) return notFound(request.legId)
    // While a caller's audio is opened, its answer may have been told already: then a BYE follows the 200.
    if (line.opening !== null) await line.opening
    if (line.ending !== null) {
      await line.ending
      return notFound(request.legId)
    }
    line.endReason ??= request.reason
    this.transfers.leaving(line)
    const { sipCode = null, q850: given = null } = request.farEnd ?? {}
    const q850 = given ?? (line.isOutOfHops ? causeOfOurs(request.reason, 483).q850 : null)
    // User-to-user information goes into the BYE that follows the other party's, or into a refusal, but not into a CANCEL (RFC 7433 §3),
    // nor if the call ends for another reason.
    const isToldOn = line.answeredMs !== null ? LEFT.has(request.reason) : line.direction === 'inbound'
    const headers = [...fieldsOfReason(request.reason, q850 ?? undefined), ...(isToldOn ? line.returned : [])]
    // What a caller is told is what is shown of it, also beside a status that stands for another cause.
    if (q850 !== null || line.direction === 'inbound') {
      const cause = causeOfOurs(request.reason, null)
      line.cause ??= { ...cause, q850: q850 ?? cause.q850 }
    }
    // The status of its INVITE tells an unanswered caller why it reaches nobody.
    const refusal = line.isOutOfHops ? 483 : (passedOn(sipCode) ?? statusOfReason(line.endReason))
    if (line.direction === 'inbound') line.refusedWith = refusal
    if (line.sessionId !== '') this.#sip.do((agent, now) => agent.bye(line.sessionId, now, headers, refusal))
    else this.#replacing.lineOver(line)
    // If nothing was sent, or SIP no longer knows the call, no other event reports its end.
    await (line.ending ?? this.#lines.finish(line, line.endReason, null))
    return {}
  }

  /** Notifies a SIP peer. The audio has been changed already. */
  hold(legId: string, held: boolean): void {
    const line = this.#lines.get(legId)
    if (line !== undefined) this.#descriptions.hold(line, held)
  }

  /** It has gone into another room, or its room has changed: what passes between two of a room alone is over. */
  moved(legId: string): void {
    const line = this.#lines.get(legId)
    if (line !== undefined) this.#faxes.moved(line)
  }

  /** Ends every leg: the drain's limit is over. */
  hangupAll(reason: EndedReason): void {
    for (const legId of this.lines.keys()) void this.hangup({ legId, reason })
  }

  async read(legIds: Iterable<string>): Promise<LegSnapshot[]> {
    const lines = [...legIds].map(legId => this.#lines.get(legId)).filter(line => line !== undefined)
    return Promise.all(lines.map(line => this.#lines.snapshot(line)))
  }

  /** Nothing comes from its far end: asks whether that is there, which its thread is told. */
  checkPresence(legId: string): void {
    const line = this.#lines.get(legId)
    if (line !== undefined) this.#sip.do((agent, now) => agent.checkPresence(line.sessionId, now))
  }

  /** A key that goes to the far end by INFO. */
  sendKey(legId: string, digit: string, durationMs: number): void {
    const line = this.#lines.get(legId)
    if (line === undefined) return
    const body = formatDtmfInfo({ digit, durationMs })
    this.#sip.do((agent, now) => agent.info(line.sessionId, DTMF_RELAY, body, now))
  }
}

function reasonOfEnd(event: Extract<UaEvent, { kind: 'ended' }>): EndedReason {
  switch (event.cause) {
    case 'bye':
    case 'cancel':
      return event.by === 'remote' ? 'caller_hangup' : 'api_hangup'
    case 'rejected':
      return 'rejected'
    case 'session_expired':
      return 'session_expired'
    case 'prack_timeout':
    case 'ack_timeout':
    case 'timeout':
    case 'transport_failed':
      return 'trunk_error'
  }
}
