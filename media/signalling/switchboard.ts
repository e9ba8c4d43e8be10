import { randomBytes, randomInt } from 'node:crypto'
import { ulid } from 'ulid'
import { CallerAuth } from '../../sip/auth/caller-auth.ts'
import { peerOfUri } from '../../sip/dialog.ts'
import { DTMF_RELAY, formatDtmfInfo, parseDtmfInfo } from '../../sip/dtmf-info.ts'
import type { Body, HeaderFields, Peer, UaEvent } from '../../sip/user-agent.ts'
import type { EngineThread } from '../engine/engine-client.ts'
import { threadOf } from '../kernel/affinity.ts'
import { RecentIds } from '../kernel/recent-ids.ts'
import type {
  DialTarget,
  EndedReason,
  EventName,
  Events,
  Failure,
  LegAudio,
  LegSnapshot,
  MediaEvent,
  Reply,
  Request,
} from '../protocol.ts'
import { isFailure } from '../protocol.ts'
import { Descriptions, incompatible, SDP } from './descriptions.ts'
import type { FarEnds } from './far-ends.ts'
import { isOver, type Line, NO_AUDIO, NO_QUALITY, partyOf, reasonOfStatus } from './line.ts'
import { REALM } from './registrar.ts'
import type { SipEndpoint } from './sip-endpoint.ts'

/** How long control may take to say what becomes of an incoming call [ms]; then 503. */
const DECISION_MS = 4000
/** The answer to a description that cannot be agreed with (RFC 3261 §21.4.26). */
const NOT_ACCEPTABLE_HERE = 488
/** `Retry-After` of a 503 [s]. */
const RETRY_AFTER_S = 5
/** A phone that rang beside the one that was answered shows no missed call (RFC 3326 §2). */
const ELSEWHERE: HeaderFields = [['Reason', 'SIP;cause=200;text="Call completed elsewhere"']]

/** Legs that are over and whose IDs are known still: none of them is dialled again. */
const MAX_RECENT = 10_000

export interface SwitchboardOptions {
  engines: readonly EngineThread[]
  /** The address in our descriptions. */
  advertisedHost: string
  maxCalls: number
  /** Whose contact a call may be to. */
  farEnds: Pick<FarEnds, 'byContact'>
  emit: (event: MediaEvent) => void
  /** Something threw, and this leg is ended for it. */
  fault: (error: unknown, legId: string) => void
}

/**
 * Joins signalling and audio on the main thread: SIP sessions on one side, engine threads on the other, one `Line` for
 * each leg. Whatever happens to a line, exactly one `leg.ended` follows its `leg.incoming` or `leg.dial`.
 */
export class Switchboard {
  readonly lines = new Map<string, Line>()
  draining = false
  /** Calls refused with 503. */
  refused = 0
  /** What threw; each has ended its leg. */
  faults = 0
  readonly #options: SwitchboardOptions
  readonly #bySession = new Map<string, Line>()
  readonly #over = new RecentIds(MAX_RECENT)
  readonly #callers = new CallerAuth(REALM, () => randomBytes(10).toString('hex'))
  readonly #descriptions: Descriptions
  #sip!: SipEndpoint

  constructor(options: SwitchboardOptions) {
    this.#options = options
    this.#descriptions = new Descriptions({
      advertisedHost: options.advertisedHost,
      sip: () => this.#sip,
      mayReach: (peer, host) => this.#sip.mayReach(peer, host),
      hangup: ({ legId }, reason) => void this.hangup({ legId, reason }),
      emit: (name, body) => this.#emit(name, body),
    })
  }

  /** The endpoint needs the switchboard's handler to exist, so it comes second. */
  attach(sip: SipEndpoint): void {
    this.#sip = sip
  }

  // ------------------------------------------------------------------ from SIP

  /** What throws ends the one call that it belongs to. */
  onSip(event: UaEvent): void {
    try {
      if (event.kind === 'incoming') this.#incoming(event)
      else this.#inSession(event)
    } catch (error) {
      this.#broke(this.#bySession.get(event.sessionId), event.sessionId, error)
    }
  }

  #broke(line: Line | undefined, sessionId: string, error: unknown): void {
    this.faults++
    this.#options.fault(error, line?.legId ?? '')
    if (line === undefined) this.#refuse(sessionId, 500, null)
    else void this.hangup({ legId: line.legId, reason: 'internal_error' })
  }

  /** Lets something run beside what follows. */
  #beside(line: Line, run: Promise<unknown>): void {
    run.catch(error => this.#broke(line, line.sessionId, error))
  }

  #inSession(event: Exclude<UaEvent, { kind: 'incoming' }>): void {
    const line = this.#bySession.get(event.sessionId)
    if (line === undefined) return
    switch (event.kind) {
      case 'provisional':
        if (event.status >= 180 && line.state === 'dialing') {
          line.state = 'ringing'
          this.#emit('leg.ringing', { legId: line.legId })
        }
        break
      case 'answered':
        line.peer = event.peer
        this.#beside(line, this.#descriptions.answered(line, event.body))
        break
      case 'confirmed':
        this.#confirmed(line, event.body)
        break
      case 'reinvite':
        line.peer = event.peer
        this.#beside(line, this.#descriptions.reinvited(line, event.offer))
        break
      case 'reinviteConfirmed':
        if (event.body !== null) this.#beside(line, this.#descriptions.lateAnswer(line, event.body))
        this.#descriptions.tellHold(line)
        break
      case 'reinviteAnswered':
        this.#beside(line, this.#descriptions.holdAnswered(line, event.body))
        break
      case 'reinviteRejected':
        this.#descriptions.holdRefused(line)
        break
      case 'info':
        this.#info(line, event.contentType, event.body)
        break
      case 'rejected':
        if (event.status === NOT_ACCEPTABLE_HERE && this.#insist(line)) break
        void this.#finish(line, line.endReason ?? reasonOfStatus(event.status), event.status)
        break
      case 'ended':
        void this.#finish(line, line.endReason ?? reasonOfEnd(event), line.refusedWith)
        break
    }
  }

  #confirmed(line: Line, answer: Body | null): void {
    if (line.state === 'answered' && answer !== null) this.#beside(line, this.#descriptions.lateAnswer(line, answer))
    // Our offer was in the 200, so its answer must be here (RFC 3261 §13.2.1): without one there is no audio, and never will be.
    else if (line.state === 'answered' && line.room !== null) {
      void this.hangup({ legId: line.legId, reason: 'codec_mismatch' })
    }
    this.#descriptions.tellHold(line)
  }

  #incoming(event: Extract<UaEvent, { kind: 'incoming' }>): void {
    const { sessionId } = event
    const isTooMany = this.lines.size >= this.#options.maxCalls || !this.#sip.admitsCall(event.peer)
    if (this.draining || isTooMany || this.#isCrowdedByStrangers(event.peer)) {
      this.refused++
      this.#refuse(sessionId, 503, RETRY_AFTER_S)
      return
    }
    const called = partyOf(event.requestUri)
    const connectionId = this.#options.farEnds.byContact(called.user)
    const line = this.#newLine({
      legId: `part_${ulid().toLowerCase()}`,
      sessionId,
      direction: 'inbound',
      state: 'incoming',
      to: connectionId === undefined ? called : partyOf(event.to.uri),
      from: partyOf(event.from.uri),
      offer: event.offer,
      peer: event.peer,
      digest: this.#callers.read(event.header('Proxy-Authorization'), event.requestUri),
    })
    line.timer = setTimeout(() => {
      this.refused++
      line.endReason = 'capacity'
      this.#refuse(sessionId, 503, RETRY_AFTER_S)
    }, DECISION_MS)
    this.#emit('leg.incoming', {
      legId: line.legId,
      to: line.to,
      from: line.from,
      source: { host: event.peer.host },
      ...(connectionId === undefined ? {} : { connectionId }),
      sipCallId: event.callId,
      digest: claimOf(line),
    })
  }

  /** Strangers' calls that wait to be judged take a quarter of the room at most. */
  #isCrowdedByStrangers(peer: Peer): boolean {
    if (peer.isKnown === true) return false
    let waiting = 0
    for (const line of this.lines.values()) if (line.state === 'incoming' && line.peer?.isKnown !== true) waiting++
    return waiting >= Math.max(1, Math.floor(this.#options.maxCalls / 4))
  }

  #refuse(sessionId: string, status: number, retryAfterS: number | null): void {
    const headers: [string, string][] = retryAfterS === null ? [] : [['Retry-After', String(retryAfterS)]]
    const line = this.#bySession.get(sessionId)
    if (line !== undefined) line.refusedWith = status
    if (status === NOT_ACCEPTABLE_HERE) headers.push(incompatible(this.#options.advertisedHost))
    this.#sip.do((agent, now) => agent.reject(sessionId, status, now, { headers }))
  }

  #newLine(
    known: Pick<Line, 'legId' | 'sessionId' | 'direction' | 'state' | 'to' | 'from' | 'offer' | 'peer' | 'digest'>,
  ): Line {
    const line: Line = {
      ...known,
      engine: null,
      port: 0,
      codecs: [],
      dtmf: 'auto',
      srtp: 'off',
      invite: null,
      room: null,
      sdpId: newSdpId(),
      description: null,
      held: false,
      onHold: false,
      told: 'sendrecv',
      asked: null,
      endReason: null,
      refusedWith: null,
      timer: undefined,
      answeredMs: null,
      ending: null,
    }
    this.lines.set(line.legId, line)
    if (line.sessionId !== '') this.#bySession.set(line.sessionId, line)
    return line
  }

  // ------------------------------------------------------------------ commands

  /** The networks of connections and phones. */
  know(networks: readonly string[]): void {
    this.#sip.know(networks)
  }

  async answer(request: Request<'leg.answer'>): Promise<LegSnapshot | Failure> {
    const line = this.lines.get(request.legId)
    if (line === undefined || line.state === 'ended') return notFound(request.legId)
    if (line.state !== 'incoming' || line.engine !== null) return conflict('the leg is answered already')
    clearTimeout(line.timer)
    line.codecs = request.codecs
    line.dtmf = request.dtmf ?? 'auto'
    line.srtp = request.srtp ?? (line.offer === null ? 'off' : 'optional')
    line.room = request.room
    const opened = await this.#openAudio(line, request.affinity)
    if (isFailure(opened)) {
      this.#reject(line, 503, opened.failure === 'capacity' ? 'capacity' : 'internal_error')
      return opened
    }
    if (isOver(line)) return notFound(request.legId)
    const { offer } = line
    if (offer === null) {
      this.#accept(line, this.#descriptions.offer(line))
      return this.#snapshot(line)
    }
    const negotiated = this.#descriptions.answer(line, offer)
    if ('error' in negotiated) {
      this.#reject(line, 488, 'codec_mismatch')
      return { failure: 'invalid', message: `the caller's offer cannot be answered: ${negotiated.error}` }
    }
    const connected = await this.#descriptions.connect(line, negotiated.media)
    if (isFailure(connected)) {
      if (!isOver(line)) this.#reject(line, 503, 'capacity')
      return connected
    }
    if (isOver(line)) return notFound(request.legId)
    this.#accept(line, negotiated.answer)
    return this.#snapshot(line)
  }

  #accept(line: Line, description: Uint8Array): void {
    line.state = 'answered'
    line.description = description
    this.#sip.do((agent, now) => agent.accept(line.sessionId, { type: SDP, bytes: description }, now))
  }

  #reject(line: Line, status: number, reason: EndedReason): void {
    line.endReason = reason
    this.#refuse(line.sessionId, status, status === 503 ? RETRY_AFTER_S : null)
  }

  /** Control has decided that it rings: its caller is told, and the limit for a decision is met. */
  ring(legId: string): Reply<'leg.ring'> | Failure {
    const line = this.lines.get(legId)
    if (line === undefined || line.state !== 'incoming') return notFound(legId)
    clearTimeout(line.timer)
    this.#sip.do((agent, now) => agent.provisional(line.sessionId, 180, null, now))
    return {}
  }

  reject(request: Request<'leg.reject'>): Reply<'leg.reject'> | Failure {
    const line = this.lines.get(request.legId)
    if (line === undefined || line.state === 'ended') return notFound(request.legId)
    if (line.state !== 'incoming') return conflict('the leg is answered already')
    line.endReason = request.reason
    clearTimeout(line.timer)
    this.#refuse(line.sessionId, request.sipCode, request.retryAfterS)
    return {}
  }

  challenge(legId: string): Reply<'leg.challenge'> | Failure {
    const line = this.lines.get(legId)
    if (line === undefined || line.state !== 'incoming') return notFound(legId)
    this.#challenge(line, false)
    return {}
  }

  checkCaller({ legId, ha1 }: Request<'leg.check_caller'>): Reply<'leg.check_caller'> | Failure {
    const line = this.lines.get(legId)
    if (line === undefined || line.state !== 'incoming') return notFound(legId)
    const { digest } = line
    if (digest === null) return conflict('the caller has sent no digest')
    const verdict = this.#callers.check(digest, ha1, performance.now())
    if (verdict === 'wrong') this.#turnAway(line, 403)
    else if (verdict === 'stale') this.#challenge(line, true)
    return { isRight: verdict === 'right' }
  }

  #challenge(line: Line, stale: boolean): void {
    this.#turnAway(line, 407, [['Proxy-Authenticate', this.#callers.challenge(performance.now(), { stale })]])
  }

  #turnAway(line: Line, status: number, headers: [string, string][] = []): void {
    line.endReason = 'rejected'
    clearTimeout(line.timer)
    this.#sip.do((agent, now) => agent.reject(line.sessionId, status, now, { headers }))
  }

  async dial(request: Request<'leg.dial'> & { target: DialTarget }): Promise<LegSnapshot | Failure> {
    if (this.draining) return { failure: 'unavailable', message: 'the media process is draining' }
    if (this.lines.size >= this.#options.maxCalls) return { failure: 'capacity', message: 'no call capacity right now' }
    // Whoever asks again has missed the reply: nobody is called twice.
    if (this.lines.has(request.legId) || this.#over.has(request.legId)) return conflict('the leg was dialled before')
    const { target } = request
    const line = this.#newLine({
      legId: request.legId,
      sessionId: '',
      direction: 'outbound',
      state: 'dialing',
      to: partyOf(target.uri),
      from: partyOf(target.from.uri),
      offer: null,
      peer: null,
      digest: null,
    })
    line.codecs = target.codecs
    line.dtmf = target.dtmf ?? 'auto'
    line.srtp = target.srtp ?? (isOverTls(target) ? 'optional' : 'off')
    line.room = request.room
    const opened = await this.#openAudio(line, request.affinity)
    // Hung up meanwhile, as its `leg.ended` says.
    if (isOver(line)) return this.#snapshot(line)
    if (isFailure(opened)) return this.#notDialled(line, opened)
    this.#invite(line, target)
    line.timer = setTimeout(() => {
      line.endReason = 'no_answer'
      this.#sip.do((agent, now) => agent.cancel(line.sessionId, now))
    }, request.timeoutS * 1000)
    return this.#snapshot(line)
  }

  /** Nothing was sent, and nothing will be: no event tells of it. */
  #notDialled(line: Line, failure: Failure): Failure {
    line.state = 'ended'
    this.lines.delete(line.legId)
    // The thread may open it yet.
    void line.engine?.request('leg.close', { legId: line.legId })
    return failure.failure === 'unanswered' ? { ...failure, failure: 'unavailable' } : failure
  }

  #invite(line: Line, target: DialTarget): void {
    line.description = this.#descriptions.firstOffer(line)
    line.invite = {
      to: target.uri,
      from: target.from.uri,
      ...(target.via === null ? {} : { target: target.via }),
      publicOnly: target.publicOnly,
      ...(target.credentials === null ? {} : { credentials: target.credentials }),
    }
    line.sessionId = this.#sip.invite({ ...line.invite, body: { type: SDP, bytes: line.description } })
    this.#bySession.set(line.sessionId, line)
  }

  /** Who takes nothing but encrypted calls may refuse an offer that leaves it open: the call is placed once more, as RTP/SAVP. */
  #insist(line: Line): boolean {
    if (line.invite === null || line.srtp !== 'optional' || line.endReason !== null) return false
    line.srtp = 'required'
    line.description = this.#descriptions.firstOffer(line)
    this.#bySession.delete(line.sessionId)
    line.sessionId = this.#sip.invite({ ...line.invite, body: { type: SDP, bytes: line.description } })
    this.#bySession.set(line.sessionId, line)
    return true
  }

  /** The reply follows the event that tells of the end. */
  async hangup(request: Request<'leg.hangup'>): Promise<Reply<'leg.hangup'> | Failure> {
    const line = this.lines.get(request.legId)
    if (line === undefined) return notFound(request.legId)
    if (line.ending !== null) {
      await line.ending
      return notFound(request.legId)
    }
    line.endReason ??= request.reason
    const headers = request.reason === 'answered_elsewhere' ? ELSEWHERE : []
    if (line.sessionId !== '') this.#sip.do((agent, now) => agent.bye(line.sessionId, now, headers))
    // Where nothing was sent, or SIP knows the call no more, nobody else tells of its end.
    await (line.ending ?? this.#finish(line, line.endReason, null))
    return {}
  }

  /** Its audio has been changed already; a SIP peer is told. */
  hold(legId: string, held: boolean): void {
    const line = this.lines.get(legId)
    if (line !== undefined) this.#descriptions.hold(line, held)
  }

  /** Ends every leg: the drain's limit is over. */
  hangupAll(reason: EndedReason): void {
    for (const legId of this.lines.keys()) void this.hangup({ legId, reason })
  }

  async read(legIds: Iterable<string>): Promise<LegSnapshot[]> {
    const lines = [...legIds].map(legId => this.lines.get(legId)).filter(line => line !== undefined)
    return Promise.all(lines.map(line => this.#snapshot(line)))
  }

  // ------------------------------------------------------------------ audio

  async #openAudio(line: Line, affinity: string): Promise<object | Failure> {
    const engine = threadOf(this.#options.engines, affinity)
    line.engine = engine
    const opened = await engine.request('leg.open', { legId: line.legId, affinity })
    if (!isFailure(opened)) line.port = opened.port
    return opened
  }

  #info(line: Line, contentType: string, body: Uint8Array): void {
    const info = line.dtmf === 'auto' || line.dtmf === 'info' ? parseDtmfInfo(contentType, body) : null
    if (info !== null && line.engine !== null) {
      const { digit: key, durationMs } = info
      void line.engine.request('leg.key', { legId: line.legId, key, source: 'info', durationMs })
    }
  }

  /** A key that goes to the far end by INFO. */
  sendKey(legId: string, digit: string, durationMs: number): void {
    const line = this.lines.get(legId)
    if (line === undefined) return
    const body = formatDtmfInfo({ digit, durationMs })
    this.#sip.do((agent, now) => agent.info(line.sessionId, DTMF_RELAY, body, now))
  }

  async #snapshot(line: Line): Promise<LegSnapshot> {
    const audio = await this.#audioOf(line)
    return {
      legId: line.legId,
      direction: line.direction,
      state: line.state,
      to: line.to,
      ...audio,
    }
  }

  async #audioOf(line: Line): Promise<LegAudio> {
    const reply = line.engine === null ? null : await line.engine.request('leg.read', { legId: line.legId })
    return reply === null || isFailure(reply) ? NO_AUDIO : reply
  }

  // ------------------------------------------------------------------ the end

  #finish(line: Line, reason: EndedReason, sipCode: number | null): Promise<void> {
    line.ending ??= this.#end(line, reason, sipCode)
    return line.ending
  }

  async #end(line: Line, reason: EndedReason, sipCode: number | null): Promise<void> {
    const endedMs = performance.now()
    line.state = 'ended'
    this.#over.add(line.legId)
    clearTimeout(line.timer)
    this.#bySession.delete(line.sessionId)
    const closed = line.engine === null ? null : await line.engine.request('leg.close', { legId: line.legId })
    this.lines.delete(line.legId)
    const quality = closed === null || isFailure(closed) ? NO_QUALITY : closed.quality
    const { legId, answeredMs } = line
    const measured = answeredMs === null ? {} : { durationMs: Math.round(endedMs - answeredMs) }
    this.#emit('leg.ended', { legId, reason, sipCode, quality, ...measured })
  }

  #emit<N extends EventName>(name: N, body: Events[N]): void {
    this.#options.emit({ name, at: new Date().toISOString(), body } as MediaEvent)
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
    case 'ack_timeout':
    case 'timeout':
    case 'transport_failed':
      return 'trunk_error'
  }
}

const isOverTls = ({ via, uri }: DialTarget): boolean => (via ?? peerOfUri(uri))?.transport === 'tls'

const newSdpId = (): string => String(randomInt(1, 2 ** 47))
/** What a caller says of itself before anybody has judged it; what is stored of an account is of MD5 and SHA-256 only. */
function claimOf({ digest }: Line): Events['leg.incoming']['digest'] {
  if (digest === null || digest.algorithm === 'SHA-512-256') return null
  return { username: digest.username, algorithm: digest.algorithm }
}

const notFound = (legId: string): Failure => ({ failure: 'not_found', message: `no leg ${legId}` })
const conflict = (message: string): Failure => ({ failure: 'conflict', message })
