import { nonceUseOf } from '../../sip/auth/digest.ts'
import { MAX_FORWARDS } from '../../sip/message/format.ts'
import type { NegotiatedMedia } from '../../sip/sdp/offer-answer.ts'
import type { Body, InviteAtTheDoor, InviteRefusal, Peer, ReliabilityPolicy, UaEvent } from '../../sip/user-agent.ts'
import type { EngineLeg } from '../engine/engine-protocol.ts'
import { NOT_SIGNED, type Signed, type Verifier } from '../identity/verifier.ts'
import type { OwnAddress, OwnAddresses } from '../kernel/own-addresses.ts'
import { newUlid } from '../protocol/chance.ts'
import type {
  EndedReason,
  Events,
  Failure,
  LegSnapshot,
  RefusalLog,
  Reliability,
  Reply,
  Request,
  Verification,
} from '../protocol.ts'
import { isFailure } from '../protocol.ts'
import type { Admission } from './admission.ts'
import { claimedIdentity } from './caller-identity.ts'
import { type Callers, storedAlgorithm } from './callers.ts'
import { fieldsOfStatus } from './causes.ts'
import { type Descriptions, familyOfOffer, incompatible, SDP } from './descriptions.ts'
import type { SipEndpoint } from './endpoint/sip-endpoint.ts'
import type { FarEnds } from './far-ends.ts'
import { onwardFields } from './invitation.ts'
import { isOver, type Line, partyOf } from './line.ts'
import { conflict, type Lines, notFound } from './lines.ts'
import { originOf } from './proxies.ts'

/** Maximum time for control's decision about an inbound call [ms]; then 503. */
const DECISION_MS = 4000
/** The answer to an unacceptable description (RFC 3261 §21.4.26). */
const NOT_ACCEPTABLE_HERE = 488
/** `Retry-After` of a 503 [s]. */
const RETRY_AFTER_S = 5
const NO_ROOM: InviteRefusal = {
  status: 503,
  headers: [['Retry-After', String(RETRY_AFTER_S)], ...fieldsOfStatus(503, null)],
}
/** For a call that would be taken too late: the next second is another one. */
const TOO_LATE: InviteRefusal = { status: 503, headers: [['Retry-After', '1']] }

/** An extension that the caller requires and we do not provide (RFC 3261 §21.4.15). */
const BAD_EXTENSION = 420

interface CallsInOptions {
  lines: Lines
  addresses: OwnAddresses
  descriptions: Descriptions
  maxCalls: number
  /** The contact that a call may be for. */
  farEnds: Pick<FarEnds, 'byContact'>
  callers: Callers
  sip: () => SipEndpoint
  /** Null: signatures are not verified. */
  verifier: Pick<Verifier, 'verify'> | null
  admission: Admission
  /** Told of each call that is refused with 503 without asking control, or for want of its answer. */
  refusals: Pick<RefusalLog, 'note'>
}

/** Why there is no room for a call, as the log says it. */
type NoRoom = 'draining' | 'max_calls' | 'strangers' | 'undecided' | 'overload'

/** Inbound calls: held until control has decided, then rung, answered, challenged or refused. */
export class CallsIn {
  draining = false
  /** Calls refused with 503. */
  refused = 0
  readonly #options: CallsInOptions
  readonly #lines: Lines

  constructor(options: CallsInOptions) {
    this.#options = options
    this.#lines = options.lines
  }

  /** A call for which there is no room is refused before anything is remembered of it: a flood of them costs an answer each. */
  atTheDoor({ peer, requestUri, header }: InviteAtTheDoor): InviteRefusal | null {
    const why = this.#noRoomFor(peer)
    if (why === null) return null
    this.refused++
    const call = () => ({ from: header('From'), to: requestUri, sipCallId: header('Call-ID') })
    this.#options.refusals.note(why, originOf(peer), call)
    return why === 'overload' ? TOO_LATE : NO_ROOM
  }

  #noRoomFor(peer: Peer): NoRoom | null {
    const { maxCalls, admission, sip } = this.#options
    // What another node passes on belongs to what runs here.
    if (this.draining && peer.proxy?.proven === undefined) return 'draining'
    if (this.#lines.taken >= maxCalls) return 'max_calls'
    if (this.#isCrowdedByStrangers(peer) || !sip().admitsCall(peer)) return 'strangers'
    if (admission.isUndecided) return 'undecided'
    return admission.refuses() ? 'overload' : null
  }

  incoming(event: Extract<UaEvent, { kind: 'incoming' }>): void {
    const { sessionId } = event
    const called = partyOf(event.requestUri)
    const connectionId = this.#options.farEnds.byContact(called.user)
    const line = this.#lines.begin({
      legId: `part_${newUlid()}`,
      sessionId,
      direction: 'inbound',
      state: 'incoming',
      to: connectionId === undefined ? called : partyOf(event.to.uri),
      from: partyOf(event.from.uri),
      offer: event.offer,
      peer: event.peer,
      digest: this.#options.callers.read(event.authorizations, event.requestUri),
    })
    line.reliability = event.reliability
    line.signed = signedOf(event)
    line.maxForwards = hopsOf(event)
    line.onward = onwardFields(event.header)
    line.isPrivate = event.identity.privacy.some(value => value !== 'none' && value !== 'critical')
    this.#mustBeDecided(line, event, this.#options.admission.waits(line.legId))
    const identity = claimedIdentity(event)
    this.#lines.emit('leg.incoming', {
      legId: line.legId,
      to: line.to,
      from: line.from,
      source: { host: originOf(event.peer) },
      ...passedOnBy(event.peer),
      ...(connectionId === undefined ? {} : { connectionId }),
      sipCallId: event.callId,
      ...replacedBy(this.#lines, event.replaces),
      digest: claimOf(line),
      ...(identity === undefined ? {} : { identity }),
    })
  }

  #mustBeDecided(line: Line, event: Extract<UaEvent, { kind: 'incoming' }>, since: number): void {
    const { admission, refusals } = this.#options
    line.timer = setTimeout(
      () => {
        if (admission.leftMs(DECISION_MS, since) > 0) {
          this.#mustBeDecided(line, event, since)
          return
        }
        this.refused++
        admission.undecided()
        const call = { from: line.from.uri, to: line.to.uri, sipCallId: event.callId }
        refusals.note('undecided', originOf(event.peer), () => call)
        line.endReason = 'capacity'
        this.refuse(line.sessionId, 503, RETRY_AFTER_S)
      },
      Math.ceil(admission.leftMs(DECISION_MS, since)),
    )
  }

  /** Strangers' calls that wait for a decision use at most a quarter of the capacity. */
  #isCrowdedByStrangers(peer: Peer): boolean {
    if (peer.isKnown === true) return false
    let waiting = 0
    for (const line of this.#lines.byLeg.values()) {
      if (line.state === 'incoming' && !line.isRung && line.peer?.isKnown !== true) waiting++
    }
    return waiting >= Math.max(1, Math.floor(this.#options.maxCalls / 4))
  }

  refuse(
    sessionId: string,
    status: number,
    retryAfterS: number | null,
    more: [string, string][] = [],
    reason?: string,
  ): void {
    const headers: (readonly [string, string])[] = [...more]
    if (retryAfterS !== null) headers.push(['Retry-After', String(retryAfterS)])
    const line = this.#lines.ofSession(sessionId)
    if (line !== undefined) line.refusedWith = status
    headers.push(...fieldsOfStatus(status, line?.endReason ?? null), ...(line?.returned ?? []))
    this.#options
      .sip()
      .do((agent, now) =>
        agent.reject(sessionId, status, now, { headers, ...(reason === undefined ? {} : { reason }) }),
      )
  }

  async answer(request: Request<'leg.answer'>): Promise<LegSnapshot | Failure> {
    const line = this.#takenUp(request.legId)
    if (line === undefined || isOver(line)) return notFound(request.legId)
    await line.opening
    if (isOver(line)) return notFound(request.legId)
    if (line.state !== 'incoming') return conflict('the leg is answered already')
    this.#mayAsk(line, request)
    if (line.early !== null) return this.#answerEarly(line, request)
    if (line.engine !== null) return conflict('the leg is answered already')
    clearTimeout(line.timer)
    return opens(line, this.#answerNow(line, request))
  }

  async #answerNow(line: Line, request: Request<'leg.answer'>): Promise<LegSnapshot | Failure> {
    const described = await this.#describe(line, request, true)
    if (isFailure(described)) return described
    const { description, begun } = described
    if (begun !== undefined && isFailure(begun)) {
      this.#reject(line, 503, 'capacity')
      return begun
    }
    this.#accept(line, description)
    return this.#lines.snapshot(line, begun)
  }

  /**
   * The caller's own trunk may challenge our requests, with the connection's password. An address in a wide network that a connection
   * allows may be anybody's.
   */
  #mayAsk({ sessionId, peer, isProven }: Line, { credentials = null }: Request<'leg.answer'>): void {
    const sip = this.#options.sip()
    if (credentials === null || peer === null || !(isProven === true || sip.isOfNetworks(peer.host))) return
    sip.do(agent => agent.mayAsk(sessionId, credentials))
  }

  /**
   * Opens its audio, and makes the description for the caller: the answer to its offer, or an offer of ours. `isAnswered`: what is agreed
   * starts at once, with a single command to its thread.
   */
  async #describe(
    line: Line,
    { codecs, dtmf = 'auto', srtp, room, affinity, near }: Omit<Request<'leg.answer'>, 'legId'>,
    isAnswered = false,
  ): Promise<DescribedCall | Failure> {
    const { offer } = line
    const { descriptions } = this.#options
    Object.assign(line, { codecs, dtmf, room, affinity, near: near ?? null })
    line.srtp = srtp ?? (offer === null ? 'off' : 'optional')
    line.own = this.#ownFor(line)
    const accepted = offer === null ? null : descriptions.accept(line, offer)
    if (accepted !== null && 'error' in accepted) {
      this.#reject(line, NOT_ACCEPTABLE_HERE, 'codec_mismatch', [incompatible(line, accepted.error)])
      return { failure: 'invalid', message: `the caller's offer cannot be answered: ${accepted.error}` }
    }
    const begin = accepted === null || !isAnswered ? undefined : descriptions.beginning(line, accepted.media)
    // Its thread tells of the answer: from now on the caller cannot give up, as if our 200 was on its way.
    if (begin !== undefined) this.#options.sip().do(agent => agent.answering(line.sessionId))
    const opened = await this.#lines.openAudio(line, line.own, begin)
    const isOpen = !isFailure(opened)
    if (isOpen && begin !== undefined) line.answeredMs = performance.now()
    if (isOver(line)) return isOpen ? notFound(line.legId) : opened
    if (!isOpen) {
      this.#reject(line, 503, opened.failure === 'capacity' ? 'capacity' : 'internal_error')
      return opened
    }
    if (accepted === null) return { media: null, description: descriptions.offer(line) }
    const { media } = accepted
    const { begun } = opened
    if (begun !== undefined && !isFailure(begun)) descriptions.begun(line, media)
    return { media, description: accepted.answer(line), begun }
  }

  /** Its audio flows already. The 200 may wait for a PRACK; until it is sent, the caller may give up. */
  #answerEarly(line: Line, { room }: Request<'leg.answer'>): Promise<LegSnapshot | Failure> {
    line.room = room
    line.isAnswering = true
    this.#accept(line, line.early!.isSettled || line.offer === null ? null : line.description)
    return this.#lines.snapshot(line)
  }

  /** Our 200 is sent. A caller with early media is answered from now on, and its capture begins. */
  accepted(line: Line): void {
    if (line.state !== 'incoming') return
    line.state = 'answered'
    const media = line.early?.media ?? null
    if (media !== null) this.#lines.beside(line, this.#options.descriptions.connectAnswered(line, media))
  }

  /** `description` null: everything was negotiated by a provisional response and its PRACK. */
  #accept(line: Line, description: Uint8Array | null): void {
    line.description = description ?? line.description
    const body = description === null ? null : { type: SDP, bytes: description }
    const { sessionId, returned } = line
    line.returned = []
    this.#options.sip().do((agent, now) => agent.accept(sessionId, body, now, returned))
  }

  #reject(line: Line, status: number, reason: EndedReason, headers: [string, string][] = []): void {
    line.endReason ??= reason
    this.refuse(line.sessionId, status, status === 503 ? RETRY_AFTER_S : null, headers)
  }

  /** Audio uses the address family of the caller's description, if we have it. */
  #ownFor({ offer, peer }: Line): OwnAddress {
    const { addresses } = this.#options
    const family = offer === null ? null : familyOfOffer(offer)
    const own = peer === null ? null : addresses.for(audioEndOf(peer))
    if (own !== null && (family === null || family === own.family)) return own
    return (family === null ? null : addresses.of(family)) ?? own ?? addresses.main
  }

  /** Control has decided that the call rings: the caller is notified, and the deadline for a decision no longer applies. */
  async ring({ legId, early, reliable = 'when_required' }: Request<'leg.ring'>): Promise<Reply<'leg.ring'> | Failure> {
    const line = this.#waiting(legId)
    if (line === null) return notFound(legId)
    clearTimeout(line.timer)
    if (reliable === 'off' && line.reliability === 'required') {
      this.#reject(line, BAD_EXTENSION, 'rejected', [['Unsupported', '100rel']])
      return { failure: 'invalid', message: 'the caller requires 100rel, which its connection has switched off' }
    }
    const policy = reliable === 'off' ? 'when_required' : reliable
    await line.opening
    if (isOver(line) || line.state !== 'incoming') return notFound(legId)
    const isHeard = early !== undefined && line.early === null && this.#mayOffer(line, reliable)
    if (isHeard) {
      return opens(line, this.#openEarly(line, early, policy))
    }
    if (!line.isRung) this.#provisional(line, 180, null, policy)
    return {}
  }

  /** Only a reliable provisional response may carry an offer of ours (RFC 3262 §5). */
  #mayOffer({ offer, reliability }: Line, reliable: Reliability): boolean {
    return offer !== null || (reliability !== null && reliable !== 'off')
  }

  async #openEarly(
    line: Line,
    as: NonNullable<Request<'leg.ring'>['early']>,
    policy: ReliabilityPolicy,
  ): Promise<Reply<'leg.ring'> | Failure> {
    const described = await this.#describe(line, as)
    if (isFailure(described)) return described
    const { media, description } = described
    line.description = description
    if (media === null) line.early = { media: null, isSettled: false }
    else {
      const connected = await this.#options.descriptions.connectEarly(line, media, 'to_caller')
      if (isFailure(connected)) {
        if (!isOver(line)) this.#reject(line, 503, 'capacity')
        return connected
      }
    }
    if (isOver(line)) return notFound(line.legId)
    this.#provisional(line, 183, { type: SDP, bytes: description }, policy)
    return {}
  }

  #provisional(line: Line, status: number, body: Body | null, policy: ReliabilityPolicy): void {
    line.isRung = true
    this.#options.sip().do((agent, now) => agent.provisional(line.sessionId, status, body, now, policy))
  }

  reject(request: Request<'leg.reject'>): Reply<'leg.reject'> | Failure {
    const line = this.#takenUp(request.legId)
    if (line === undefined || isOver(line)) return notFound(request.legId)
    if (line.state !== 'incoming') return conflict('the leg is answered already')
    line.endReason = request.reason
    clearTimeout(line.timer)
    this.refuse(line.sessionId, request.sipCode, request.retryAfterS ?? null, [], request.phrase)
    return {}
  }

  /** Verifies the signature of the call while the caller waits. */
  async verify({ legId, from, to }: Request<'leg.verify'>): Promise<Verification | Failure> {
    const line = this.#waiting(legId)
    const { verifier } = this.#options
    if (line === null) return notFound(legId)
    if (verifier === null || line.signed === null) return NOT_SIGNED
    const verification = await verifier.verify({ ...line.signed, from, to })
    // Unproven values are not passed on.
    if (verification.result === 'failed') line.signed = null
    return isOver(line) ? notFound(legId) : verification
  }

  /** Another node answers the caller in our place, if it is there. */
  async passOn({ legId, node, proven }: Request<'leg.pass_on'>): Promise<Reply<'leg.pass_on'> | Failure> {
    const line = this.#waiting(legId)
    if (line === null || line.peer === null) return notFound(legId)
    const sip = this.#options.sip()
    const isPassedOn = line.peer.proxy?.proven !== undefined
    const to = node === null || isPassedOn ? null : await sip.nodes.nodeAt(node)
    if (isOver(line)) return notFound(legId)
    if (to === 'gone') return conflict('that node is gone')
    if (to === null) {
      this.#reject(line, 503, 'capacity')
      return { failure: 'unanswered', message: 'that node does not answer' }
    }
    line.endReason = 'rejected'
    clearTimeout(line.timer)
    sip.passOn(line.sessionId, to, { origin: originOf(line.peer), proven })
    return {}
  }

  challenge({ legId, algorithm, isStale = false }: Request<'leg.challenge'>): Reply<'leg.challenge'> | Failure {
    const line = this.#waiting(legId)
    if (line === null) return notFound(legId)
    this.#challenge(line, { stale: isStale, algorithm })
    return {}
  }

  checkCaller({ legId, ha1 }: Request<'leg.check_caller'>): Reply<'leg.check_caller'> | Failure {
    const line = this.#waiting(legId)
    if (line === null) return notFound(legId)
    const { digest, peer } = line
    if (digest === null || peer === null) return conflict('the caller has sent no digest')
    const verdict = this.#options.callers.check(digest, ha1, peer)
    if (verdict === 'wrong') this.#turnAway(line, { status: 403, headers: [] })
    else if (verdict === 'stale') this.#challenge(line, { stale: true, algorithm: storedAlgorithm(digest) })
    // Strangers cannot use the capacity of callers that have proven their account.
    else this.#options.sip().meet(peer.host)
    line.isProven = verdict === 'right'
    return { isRight: line.isProven }
  }

  #challenge(line: Line, options: Parameters<Callers['challenge']>[1]): void {
    this.#turnAway(line, this.#options.callers.challenge(line.peer ?? { host: '' }, options))
  }

  #turnAway(line: Line, { status, headers }: InviteRefusal): void {
    line.endReason = 'rejected'
    clearTimeout(line.timer)
    this.#options.sip().do((agent, now) => agent.reject(line.sessionId, status, now, { headers }))
  }

  /** A command about it: control has it in hand. */
  #takenUp(legId: string): Line | undefined {
    this.#options.admission.isTaken(legId)
    return this.#lines.get(legId)
  }

  #waiting(legId: string): Line | null {
    const line = this.#takenUp(legId)
    return line?.state === 'incoming' ? line : null
  }
}

/** Notes that the line's audio is being opened, until that has succeeded or failed. */
function opens<T>(line: Line, opening: Promise<T>): Promise<T> {
  const opened = opening.finally(() => {
    line.opening = null
  })
  line.opening = opened.then(ignored, ignored)
  return opened
}

const ignored = (): void => {}

interface DescribedCall {
  /** What was negotiated; null: we have made the offer. */
  media: NegotiatedMedia | null
  description: Uint8Array
  /** The audio, if it was to start at once. */
  begun?: EngineLeg | Failure | undefined
}

/** Where a caller's audio comes from, as far as its signalling tells, behind trusted proxies. */
const audioEndOf = (peer: Peer): { host: string; local?: string } =>
  peer.proxy === undefined || peer.proxy.origin === null ? peer : { host: peer.proxy.origin }

/** What another node says of a caller; empty: none has passed it on. */
function passedOnBy({ proxy }: Peer): Pick<Events['leg.incoming'], 'passedOn'> {
  if (proxy?.proven === undefined) return {}
  const { proven, joins } = proxy
  return { passedOn: { ...(proven === null ? {} : { proven }), ...(joins === undefined ? {} : { joins }) } }
}

/** The leg that the call is to replace. */
function replacedBy(lines: Lines, sessionId: string | undefined): { replaces?: string } {
  const line = sessionId === undefined ? undefined : lines.ofSession(sessionId)
  return line === undefined ? {} : { replaces: line.legId }
}

/** The signatures of a call, and its Date. */
function signedOf({ identity, header }: Extract<UaEvent, { kind: 'incoming' }>): Pick<Signed, 'signatures' | 'date'> {
  const date = Date.parse(header('Date') ?? '')
  return { signatures: identity.signatures, date: Number.isNaN(date) ? null : Math.floor(date / 1000) }
}

/** Max-Forwards, which was read as a number already; a caller's own idea of "many" is not more than ours. */
const hopsOf = ({ header }: Extract<UaEvent, { kind: 'incoming' }>): number =>
  Math.min(Number(header('Max-Forwards') ?? MAX_FORWARDS), MAX_FORWARDS)

/** The caller's claims, not verified yet. Stored accounts have hashes for MD5 and SHA-256 only. */
function claimOf({ digest }: Line): Events['leg.incoming']['digest'] {
  const algorithm = digest === null ? undefined : storedAlgorithm(digest)
  return digest === null || algorithm === undefined
    ? null
    : { username: digest.username, algorithm, nonce: nonceUseOf(digest) }
}
