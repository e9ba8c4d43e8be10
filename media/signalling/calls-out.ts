import { destinationOfUri, isWebSocket, peerOfAddress } from '../../sip/destination.ts'
import type { Peer, UaEvent } from '../../sip/user-agent.ts'
import type { DialledLegs } from '../kernel/dialled-legs.ts'
import type { OwnAddresses } from '../kernel/own-addresses.ts'
import type { DialTarget, EndedReason, Failure, LegSnapshot, Request, SrtpPolicy } from '../protocol.ts'
import { isFailure } from '../protocol.ts'
import { type CallPace, type Rate, ratesOf } from './call-pace.ts'
import { causeOfFarEnd, meaningOf } from './causes.ts'
import type { Descriptions } from './descriptions.ts'
import type { SipEndpoint } from './endpoint/sip-endpoint.ts'
import { invitationOf, userToUser } from './invitation.ts'
import { isOver, type Line, partyOf, reasonOfStatus, stricterAfter } from './line.ts'
import { conflict, type Lines } from './lines.ts'
import type { Redirects } from './redirects.ts'
import { PATIENCE_MS, patienceWith, Resting, type Sign, type Way, Ways } from './ways.ts'

/** Nobody passes the call on any more (RFC 3261 §21.4.20). */
const TOO_MANY_HOPS = 483
/** Nobody has answered, not even with a 100 (RFC 3261 §8.1.3.1). */
const REQUEST_TIMEOUT = 408
const NO_WAY: Failure = { failure: 'unavailable', message: 'nothing leads there' }
const NO_TURN: Failure = { failure: 'capacity', message: 'its connection or campaign begins as many calls as it may' }

interface CallsOutOptions {
  lines: Lines
  addresses: OwnAddresses
  descriptions: Descriptions
  sip: () => SipEndpoint
  sign: Sign
  hangup: (line: Line, reason: EndedReason) => void
  pace: CallPace
  redirects: Redirects
  dialled: Pick<DialledLegs, 'note'>
}

/** Outbound calls: placed over one way after the other (`ways.ts`) until one accepts them. */
export class CallsOut {
  readonly #options: CallsOutOptions
  readonly #lines: Lines
  readonly #resting = new Resting(() => performance.now())

  constructor(options: CallsOutOptions) {
    this.#options = options
    this.#lines = options.lines
  }

  async dial(request: Request<'leg.dial'> & { target: DialTarget }): Promise<LegSnapshot | Failure> {
    // A repeated request has missed the reply: nobody is called twice.
    if (this.#lines.knew(request.legId)) return conflict('the leg was dialled before')
    const line = this.#begin(request)
    const maxForwards = this.#lines.onwardFrom(request.callerLegId)
    if (maxForwards === null) {
      void this.#lines.finish(line, 'rejected', TOO_MANY_HOPS)
      return this.#lines.snapshot(line)
    }
    line.maxForwards = maxForwards
    line.callerLegId = request.callerLegId
    const { delayMs = 0 } = request
    const isSlow = delayMs > 0 || isNamed(request.target) || this.#options.pace.waits(ratesFor(line, request.target))
    const placed = delayMs === 0 ? this.#placeNext(line) : this.#placeLater(line, delayMs)
    if (isSlow) {
      // It may take longer than control waits for a reply.
      this.#lines.beside(line, this.#orEnd(line, placed, 503))
      return this.#lines.snapshot(line)
    }
    const failed = await placed
    // Hung up meanwhile, as its `leg.ended` says.
    if (isOver(line)) return this.#lines.snapshot(line)
    if (failed === NO_WAY) void this.#lines.finish(line, 'trunk_error', 503)
    else if (failed !== null) {
      this.#lines.forget(line)
      return failed.failure === 'unanswered' ? { ...failed, failure: 'unavailable' } : failed
    }
    return this.#lines.snapshot(line)
  }

  #begin(request: Request<'leg.dial'> & { target: DialTarget }): Line {
    const { legId, target, room, affinity, near = null, sound, pace, alternatives = [], callerLegId } = request
    const line = this.#lines.begin({
      legId,
      sessionId: '',
      direction: 'outbound',
      state: 'dialing',
      to: partyOf(target.uri),
      from: partyOf(target.from.uri),
      offer: null,
      peer: null,
      digest: null,
    })
    line.room = room
    line.affinity = affinity
    if (sound !== undefined) line.sound = sound
    if (pace !== undefined) line.pace = pace
    line.near = near
    const locate: SipEndpoint['locate'] = to => this.#options.sip().locate(to)
    const caller = callerLegId === undefined ? undefined : this.#lines.get(callerLegId)
    const received = caller?.signed?.signatures ?? []
    if (caller !== undefined) {
      line.onward = caller.onward
      // Somebody is called for it, who may take longer to ring than a decision may.
      if (caller.state === 'incoming') clearTimeout(caller.timer)
    }
    line.ways = new Ways({
      targets: [target, ...alternatives],
      locate,
      resting: this.#resting,
      sign: to => this.#options.sign(to, received),
      mayCall: (by, contacts) => this.#options.redirects.ask(line, by, contacts),
    })
    line.timer = setTimeout(
      () => this.#options.hangup(line, 'no_answer'),
      request.timeoutS * 1000 + (request.delayMs ?? 0),
    )
    return line
  }

  async #placeLater(line: Line, delayMs: number): Promise<Failure | null> {
    await new Promise(resolve => setTimeout(resolve, delayMs))
    return isOver(line) ? null : this.#placeNext(line)
  }

  /** Places a call over its next way. Returns a failure if there is none, or no capacity for its audio. */
  async #placeNext(line: Line): Promise<Failure | null> {
    const way = await line.ways!.next()
    if (isOver(line)) return null
    const own = way === null ? null : this.#options.addresses.for(way.peer)
    if (way === null || own === null) return NO_WAY
    const wasHeard = line.early !== null
    if (line.own !== own || wasHeard) {
      line.early = null
      line.earlyMedia = null
      line.deniedEarly = null
      if (wasHeard) this.#lines.emit('leg.early_media', { legId: line.legId, isHeard: false })
      // Its sockets have the other family, or belong to an attempt that was refused.
      if (line.own !== null) await line.engine!.request('leg.close', { legId: line.legId })
      const opened = isOver(line) ? null : await this.#lines.openAudio(line, own)
      if (isOver(line)) return null
      if (opened !== null && isFailure(opened)) return opened
    }
    const { target, peer } = way
    const turn = await this.#options.pace.turn(ratesFor(line, target), () => !isOver(line))
    if (isOver(line)) return null
    if (!turn) return NO_TURN
    delete line.pace
    const { connectionId } = target
    // Before the first attempt, control has it for a call over its first target, which may lead nowhere at the moment.
    const { connectionId: before } = line.way?.target ?? line.ways!.first
    if (connectionId !== undefined && connectionId !== before) {
      this.#lines.emit('leg.routed', { legId: line.legId, connectionId })
    }
    line.way = way
    line.codecs = target.codecs
    line.dtmf = target.dtmf ?? 'auto'
    const [phone] = target.hosts
    line.isWebRtc = isWebSocket(phone?.node === undefined ? peer : (phone as Peer))
    line.srtp = target.srtp ?? (peer.transport === 'tls' ? 'optional' : 'off')
    this.#invite(line, way)
    return null
  }

  #invite(line: Line, way: Way): void {
    const description = this.#options.descriptions.firstOffer(line)
    line.description = description
    this.#options.dialled.note(line.legId)
    const sessionId = this.#options.sip().invite({
      ...invitationOf(way, { description, maxForwards: line.maxForwards, onward: line.onward }),
      ...patienceWith(way, line.ways!),
    })
    this.#lines.bind(line, sessionId)
  }

  /** Progress of the far end; a description with it means early media (RFC 3960). */
  provisional(line: Line, { status, body: said, earlyMedia, peer }: Extract<UaEvent, { kind: 'provisional' }>): void {
    if (line.way !== null) line.ways?.heard(line.way)
    if (status >= 180 && line.state === 'dialing') {
      line.state = 'ringing'
      this.#lines.emit('leg.ringing', { legId: line.legId })
    }
    line.earlyMedia = earlyMedia ?? line.earlyMedia
    const isDenied = line.earlyMedia === 'denied'
    const body = said ?? (earlyMedia === 'allowed' ? line.deniedEarly : null)
    line.deniedEarly = isDenied ? body : null
    if (isDenied || body === null || (line.state !== 'dialing' && line.state !== 'ringing')) return
    line.peer = peer
    this.#lines.beside(line, this.#options.descriptions.early(line, body))
  }

  /** The far end has refused: the call is repeated if that may help, and has ended otherwise. */
  refused(line: Line, refusal: Extract<UaEvent, { kind: 'rejected' }>): void {
    const { status } = refusal
    const stricter = stricterAfter(line, status)
    if (stricter !== null) this.#lines.beside(line, this.#insist(line, stricter))
    else if (this.#mayGoOn(line, refusal)) this.#lines.beside(line, this.#goOn(line, status))
    else {
      if (status === TOO_MANY_HOPS) this.#lines.outOfHops(line.callerLegId)
      if (refusal.origin === 'remote') line.cause = causeOfFarEnd(refusal.reasons, status)
      this.#lines.tellOther(line, userToUser(refusal.header))
      const isSilent = refusal.origin === 'local' && status === REQUEST_TIMEOUT
      // A phone may have lost its network; a trunk that does not even send 100 has rung nobody.
      const isDead = isSilent && line.way?.target.connectionId !== undefined
      const reason = isDead ? 'trunk_error' : (meaningOf(refusal.reasons) ?? reasonOfStatus(status))
      const said = (isSilent ? line.besides : null) ?? { reason, status }
      if (refusal.origin === 'remote') this.#hurryOthers(line, said)
      void this.#lines.finish(line, line.endReason ?? said.reason, said.status)
    }
  }

  /**
   * A member's phone has refused, and no other one rings: those that have said nothing at all, perhaps since their machines are off, do not
   * keep the caller waiting for as long as they might ring.
   */
  #hurryOthers(refused: Line, said: NonNullable<Line['besides']>): void {
    if (refused.callerLegId === undefined || !isPhone(refused)) return
    const others = [...this.#lines.byLeg.values()].filter(
      line => line !== refused && line.callerLegId === refused.callerLegId && isPhone(line),
    )
    if (others.some(({ state }) => state === 'ringing')) return
    for (const line of others) {
      if (line.state !== 'dialing') continue
      line.besides = said
      this.#options.sip().do((agent, now) => agent.hurry(line.sessionId, PATIENCE_MS, now))
    }
  }

  /** It is placed once more, with encryption of another kind. */
  async #insist(line: Line, srtp: SrtpPolicy): Promise<void> {
    this.#lines.bind(line, '')
    const { target } = line.way!
    const turn = await this.#options.pace.turn(ratesOf(target), () => !isOver(line))
    if (isOver(line)) return
    line.srtp = srtp
    if (turn) this.#invite(line, line.way!)
    else void this.#lines.finish(line, 'capacity', null)
  }

  #mayGoOn(line: Line, refusal: Extract<UaEvent, { kind: 'rejected' }>): boolean {
    if (line.ways === null || line.way === null || line.endReason !== null || isOver(line)) return false
    return line.ways.mayGoOn(line.way, refusal)
  }

  /** `status`: the result of the last attempt, in case there is no other. */
  async #goOn(line: Line, status: number): Promise<void> {
    this.#lines.bind(line, '')
    line.state = 'dialing'
    await this.#orEnd(line, this.#placeNext(line), status)
  }

  async #orEnd(line: Line, placed: Promise<Failure | null>, status: number): Promise<void> {
    const failed = await placed
    if (failed === null || isOver(line)) return
    if (failed === NO_WAY) void this.#lines.finish(line, line.ways?.refusal ?? reasonOfStatus(status), status)
    else void this.#lines.finish(line, failed.failure === 'capacity' ? 'capacity' : 'media_failed', null)
  }
}

/** Whether it is a member's phone: a contact, and no connection's. */
const isPhone = ({ way }: Line): boolean =>
  way !== null && way.target.hosts.length > 0 && way.target.connectionId === undefined

/** A further INVITE of the same call does not count for its campaign. */
const ratesFor = ({ pace }: Line, target: DialTarget): Rate[] => [
  ...ratesOf(target),
  ...(pace === undefined ? [] : [pace]),
]

/** Whether its destination has to be looked up first. */
function isNamed({ hosts, uri }: DialTarget): boolean {
  const first = hosts[0] ?? destinationOfUri(uri)
  return first !== null && peerOfAddress(first) === null
}
