import { randomInt } from 'node:crypto'
import { isWebSocket } from '../../sip/destination.ts'
import { audioOf } from '../../sip/sdp/sdes-agreement.ts'
import type { Body, HeaderFields, Peer, UaEvent } from '../../sip/user-agent.ts'
import type { OwnAddresses } from '../kernel/own-addresses.ts'
import type { DialTarget, Failure, LegCause, Reply, Request, ToneSource } from '../protocol.ts'
import { type EndedReason, isFailure } from '../protocol.ts'
import { type CallPace, ratesOf } from './call-pace.ts'
import { fieldsOfReason } from './causes.ts'
import { type Descriptions, incompatible, SDP } from './descriptions.ts'
import type { SipEndpoint } from './endpoint/sip-endpoint.ts'
import { invitationOf, saying } from './invitation.ts'
import { type Early, isOver, type Line, partyOf, reasonOfStatus, stricterAfter } from './line.ts'
import { conflict, type Lines, notFound } from './lines.ts'
import type { Redirects } from './redirects.ts'
import { patienceWith, Resting, type Sign, type Way, Ways } from './ways.ts'

/** None of the targets that a far end has named may be called. */
const FORBIDDEN = 403
/** The call was passed on too often (RFC 3261 §21.4.20). */
const TOO_MANY_HOPS = 483

/** The dialog that a caller names is not there any more, or not yet (RFC 3891 §3). */
const NO_DIALOG = 481

/** A far end that need not wait for the answer of who takes its place. */
const LET_GO = 'let_go'

/** Progress of a call in a leg's place: a SIP status; 200 and above are final. */
type Told = (status: number) => void

/** A call in the place of a line's far end, until it is answered or over. */
interface Attempt {
  line: Line
  /** The line's state once answered. */
  next: Line
  ways: Ways
  timer: NodeJS.Timeout
  told: Told
  /** Heard while it rings, if the line has no other far end. */
  ringback: ToneSource | undefined
  isRinging: boolean
  isOver: boolean
  /** The cause with which the line's far end has hung up meanwhile, or that it was let go; null: it is there still. */
  left: LegCause | typeof LET_GO | null
}

interface ReplacingOptions {
  lines: Lines
  addresses: OwnAddresses
  descriptions: Descriptions
  sip: () => SipEndpoint
  sign: Sign
  pace: CallPace
  redirects: Redirects
}

/**
 * Replaces the far end of a line. The leg stays, with its audio, its room and all that listens to it; only the SIP session behind it
 * changes. The new far end is a caller who names the old dialog (RFC 3891), or a party that we call for it.
 */
export class Replacing {
  readonly #options: ReplacingOptions
  readonly #lines: Lines
  /** By the session ID of their INVITE. */
  readonly #attempts = new Map<string, Attempt>()
  /** Attempts in progress. */
  readonly #pending = new Set<Attempt>()
  readonly #resting = new Resting(() => performance.now())

  constructor(options: ReplacingOptions) {
    this.#options = options
    this.#lines = options.lines
  }

  /** A caller takes the place of the far end of a leg that rings, or talks. If that is not possible it is refused. */
  async replace({ legId, byLegId }: Request<'leg.replace'>): Promise<Reply<'leg.replace'> | Failure> {
    const [line, by] = [this.#lines.get(legId), this.#lines.get(byLegId)]
    while (line?.opening) await line.opening
    if (by === undefined || by.state !== 'incoming' || by.engine !== null) return notFound(byLegId)
    if (line === undefined || isOver(line)) {
      this.#refuse(by, NO_DIALOG, 'not_found')
      return notFound(legId)
    }
    if (line.state === 'incoming' && !line.isAnswering) return this.#replaceCaller(line, by)
    if (line.engine === null) {
      this.#refuse(by, NO_DIALOG, 'not_found')
      return conflict('the leg is not talked on yet')
    }
    clearTimeout(by.timer)
    const next = this.#successor(line, { peer: by.peer, srtp: by.offer === null ? 'off' : 'optional' })
    const { descriptions } = this.#options
    const agreed = by.offer === null ? null : descriptions.answer(next, by.offer)
    if (agreed !== null && 'error' in agreed) {
      this.#refuse(by, 488, 'codec_mismatch', [incompatible(line, agreed.error)])
      return { failure: 'invalid', message: `the caller's offer cannot be answered: ${agreed.error}` }
    }
    const { sessionId } = by
    // So that a phone whose call is picked up elsewhere shows no missed call.
    const isRinging = line.state !== 'answered' && line.direction === 'outbound'
    const reason = isRinging ? 'answered_elsewhere' : 'transfer_completed'
    this.#lines.bind(by, '')
    next.description = agreed?.answer ?? descriptions.offer(next)
    next.state = 'answered'
    const before = this.#swap(line, next, sessionId)
    this.#joined(line, by)
    // The caller's own leg never was more than its INVITE.
    void this.#lines.finish(by, 'transfer_completed', null)
    const body: Body = { type: SDP, bytes: next.description }
    // Before the audio: until then the caller may give up, which would end the whole call now.
    this.#options.sip().do((agent, now) => agent.accept(sessionId, body, now))
    this.#leave(before, reason)
    const connected = agreed === null ? {} : await descriptions.connect(line, agreed.media)
    return isFailure(connected) ? connected : {}
  }

  /**
   * A node that calls for a caller of ours takes that one's place before there is an answer: it is the caller from now on, is told that it rings, and
   * hears what the other one has heard.
   */
  async #replaceCaller(line: Line, by: Line): Promise<Reply<'leg.replace'> | Failure> {
    const { sessionId, offer, peer, reliability } = by
    const { descriptions, sip } = this.#options
    const next = this.#successor(line, { peer, srtp: 'optional' })
    const agreed = line.early === null || offer === null ? null : descriptions.answer(next, offer)
    if (agreed !== null && 'error' in agreed) {
      this.#refuse(by, 488, 'codec_mismatch', [incompatible(line, agreed.error)])
      return { failure: 'invalid', message: `the caller's offer cannot be answered: ${agreed.error}` }
    }
    this.#lines.bind(by, '')
    next.description = agreed?.answer ?? null
    const before = this.#swap(line, next, sessionId)
    Object.assign(line, { offer, reliability, early: null })
    this.#joined(line, by)
    void this.#lines.finish(by, 'transfer_completed', null)
    this.#leave(before, 'transfer_completed')
    const connected = agreed === null ? {} : await descriptions.connectEarly(line, agreed.media, 'to_caller')
    if (isFailure(connected)) return connected
    const heard = agreed === null ? null : { type: SDP, bytes: agreed.answer }
    sip().do((agent, now) => agent.provisional(sessionId, heard === null ? 180 : 183, heard, now))
    return {}
  }

  /** Control learns by it that the member of this leg has left the call, also if it does not get the command's reply. */
  #joined({ legId }: Line, { from, peer }: Line): void {
    if (peer?.proxy?.joins === true) this.#lines.emit('leg.replaced', { legId, by: from, joins: true })
  }

  #refuse(line: Line, status: number, reason: EndedReason, headers: [string, string][] = []): void {
    line.endReason = reason
    line.refusedWith = status
    this.#options.sip().do((agent, now) => agent.reject(line.sessionId, status, now, { headers }))
  }

  /** Calls somebody in the place of a line's far end, which stays until there is an answer. */
  call(
    line: Line,
    request: {
      targets: readonly DialTarget[]
      timeoutS: number
      ringback: ToneSource | undefined
      /** User-to-user information for who is called. */
      said: HeaderFields
    },
    told: Told,
  ): void {
    const locate: SipEndpoint['locate'] = to => this.#options.sip().locate(to)
    const attempt: Attempt = {
      line,
      next: this.#successor(line, { peer: null, srtp: 'off' }),
      ways: new Ways({
        ...{ targets: request.targets, locate, resting: this.#resting, sign: this.#options.sign },
        mayCall: (by, contacts) => this.#options.redirects.ask(line, by, contacts),
      }),
      timer: setTimeout(() => this.#giveUp(attempt, 408), request.timeoutS * 1000),
      told,
      ringback: request.ringback,
      isRinging: false,
      isOver: false,
      left: null,
    }
    this.#pending.add(attempt)
    const maxForwards = this.#lines.onwardFrom(line.legId)
    if (maxForwards === null) {
      this.#over(attempt, TOO_MANY_HOPS)
      return
    }
    attempt.next.maxForwards = maxForwards
    // These fields are about the far end that leaves.
    if (line.direction === 'inbound') attempt.next.onward = []
    attempt.next.onward = saying(request.said, attempt.next.onward)
    this.#lines.beside(line, this.#placeNext(attempt, 480))
  }

  #successor(line: Line, known: Pick<Line, 'peer' | 'srtp'>): Line {
    const sdpId = String(randomInt(1, 2 ** 47))
    return {
      ...line,
      ...known,
      sessionId: '',
      sdpId,
      description: null,
      theirs: [],
      told: 'sendrecv',
      asked: null,
      offer: null,
      early: null,
      media: null,
    }
  }

  async #placeNext(attempt: Attempt, status: number): Promise<void> {
    const { line, next, ways } = attempt
    for (;;) {
      const way = await ways.next()
      if (isOver(line) || way === null) {
        this.#over(attempt, ways.refusal === null ? status : FORBIDDEN)
        return
      }
      if (attempt.isOver) return
      // The sockets of the leg are there already, of one family.
      if (this.#options.addresses.for(way.peer)?.family !== line.own?.family) continue
      next.codecs = way.target.codecs
      next.dtmf = way.target.dtmf ?? 'auto'
      next.isWebRtc = isWebSocket(way.peer)
      next.srtp = way.target.srtp ?? (way.peer.transport === 'tls' ? 'optional' : 'off')
      return this.#place(attempt, way, status)
    }
  }

  /** `status`: the result if it may not be placed. */
  async #place(attempt: Attempt, way: Way, status: number): Promise<void> {
    const { line, next } = attempt
    const isWanted = () => !isOver(line) && !attempt.isOver
    if (!(await this.#options.pace.turn(ratesOf(way.target), isWanted)) || !isWanted()) {
      this.#over(attempt, status)
      return
    }
    next.way = way
    const description = this.#options.descriptions.firstOffer(next)
    next.description = description
    const { maxForwards, onward } = next
    next.sessionId = this.#options.sip().invite({
      ...invitationOf(way, { description, maxForwards, onward }),
      ...patienceWith(way, attempt.ways),
    })
    this.#attempts.set(next.sessionId, attempt)
  }

  /** True: the event is of a call in the place of another. */
  takes(event: UaEvent): boolean {
    const attempt = this.#attempts.get(event.sessionId)
    if (attempt === undefined) return false
    const { line, next, ways } = attempt
    if (event.kind === 'provisional') {
      if (next.way !== null) ways.heard(next.way)
      if (event.status >= 180) this.#rings(attempt, event.status)
      if (event.body !== null && event.earlyMedia !== 'denied') this.#early(attempt, event.body, event.peer)
    } else if (event.kind === 'reinvite') this.#updated(attempt, event.offer)
    else if (event.kind === 'answered' || event.kind === 'reinviteAnswered') {
      if (event.kind === 'answered') next.peer = event.peer
      this.#lines.beside(line, this.#answered(attempt, event.body))
    } else if (event.kind === 'reinviteRejected') {
      next.description = next.asked?.before ?? next.description
      this.#withoutAudio(attempt, true)
    } else if (event.kind === 'rejected') {
      this.#attempts.delete(event.sessionId)
      const stricter = isOver(line) || attempt.isOver ? null : stricterAfter(next, event.status)
      if (stricter !== null) {
        next.srtp = stricter
        this.#lines.beside(line, this.#place(attempt, next.way!, event.status))
        return true
      }
      const wasHeard = next.early !== null || attempt.isRinging
      attempt.isRinging = false
      if (wasHeard) this.#hear(attempt, null)
      const mayGoOn = !isOver(line) && next.way !== null && ways.mayGoOn(next.way, event)
      if (mayGoOn) this.#lines.beside(line, this.#placeNext(attempt, event.status))
      else this.#over(attempt, event.status)
    } else if (event.kind === 'ended') {
      this.#attempts.delete(event.sessionId)
      this.#over(attempt, 480)
    }
    return true
  }

  #rings(attempt: Attempt, status: number): void {
    attempt.told(status)
    if (attempt.isRinging) return
    attempt.isRinging = true
    this.#hear(attempt, attempt.next.early)
  }

  #early(attempt: Attempt, body: Body, peer: Peer): void {
    const { next } = attempt
    const media = this.#options.descriptions.agreed(next, body)
    if (media === null) return
    next.peer = peer
    this.#hear(attempt, { media, isSettled: false })
  }

  /** Its audio before the answer. Those in the room hear it once nobody else is at the line's far end. */
  #hear({ line, next, left, ringback, isRinging }: Attempt, early: Early | null): void {
    next.early = early
    if (left === null) return
    this.#lines.beside(line, this.#options.descriptions.hear(line, next, isRinging ? ringback : undefined))
  }

  /** It changes the session before it answers (RFC 3311): its audio is heard from then on. */
  #updated(attempt: Attempt, offer: Body | null): void {
    const { next } = attempt
    const { sessionId } = next
    const agreed = offer === null ? null : this.#options.descriptions.answer(next, offer)
    if (agreed === null || 'error' in agreed) {
      this.#options.sip().do((agent, now) => agent.rejectReinvite(sessionId, 488, now))
      return
    }
    next.description = agreed.answer
    this.#hear(attempt, { media: agreed.media, isSettled: true })
    const body: Body = { type: SDP, bytes: agreed.answer }
    this.#options.sip().do((agent, now) => agent.acceptReinvite(sessionId, body, now))
  }

  async #answered(attempt: Attempt, body: Body | null): Promise<void> {
    const { line, next } = attempt
    const { descriptions } = this.#options
    const media = body === null ? (next.early?.media ?? null) : descriptions.agreed(next, body)
    if (media === null) {
      this.#withoutAudio(attempt, body !== null && audioOf(body.bytes) === null)
      return
    }
    this.#attempts.delete(next.sessionId)
    if (isOver(line)) {
      this.#leave(next.sessionId, line.endReason ?? 'caller_hangup')
      this.#over(attempt, 488)
      return
    }
    next.state = 'answered'
    const before = this.#swap(line, next, next.sessionId)
    const target = next.way!.target
    const { connectionId } = target
    const routed = connectionId === undefined ? {} : { connectionId }
    this.#lines.emit('leg.replaced', { legId: line.legId, by: partyOf(target.uri), ...routed })
    await descriptions.connect(line, media)
    this.#over(attempt, 200)
    this.#leave(before, 'transfer_completed')
  }

  /** It has answered without audio: it is asked once more, in its call, if that may help. */
  #withoutAudio(attempt: Attempt, isRefused: boolean): void {
    const { line, next } = attempt
    if (isRefused && !isOver(line) && this.#options.descriptions.asksAgain(next)) return
    this.#attempts.delete(next.sessionId)
    this.#leave(next.sessionId, isOver(line) ? (line.endReason ?? 'caller_hangup') : 'codec_mismatch')
    this.#over(attempt, 488)
  }

  #leave(sessionId: string, reason: EndedReason): void {
    this.#options.sip().do((agent, now) => agent.bye(sessionId, now, fieldsOfReason(reason)))
  }

  /** The line is the successor's from now on. Returns the session that it was before, of which nobody hears any more. */
  #swap(line: Line, next: Line, sessionId: string): string {
    const before = line.sessionId
    clearTimeout(line.timer)
    this.#lines.bind(line, sessionId)
    const { state, peer, codecs, dtmf, srtp, ways, way, sdpId, description, theirs, told, maxForwards } = next
    const known = { state, peer, codecs, dtmf, srtp, ways, way, sdpId, description, theirs, told, maxForwards }
    Object.assign(line, { ...known, asked: null })
    return before
  }

  #giveUp(attempt: Attempt, status: number): void {
    const { sessionId } = attempt.next
    const reason = fieldsOfReason(status === 408 ? 'no_answer' : 'caller_hangup')
    if (this.#attempts.delete(sessionId)) this.#options.sip().do((agent, now) => agent.bye(sessionId, now, reason))
    this.#over(attempt, status)
  }

  #over(attempt: Attempt, status: number): void {
    clearTimeout(attempt.timer)
    const { told } = attempt
    attempt.told = () => {}
    attempt.isOver = true
    this.#pending.delete(attempt)
    told(status)
    const { line, left } = attempt
    if (left === null || status < 300) return
    if (left !== LET_GO) line.cause ??= left
    const reason = left === LET_GO ? reasonOfStatus(status) : 'caller_hangup'
    void this.#lines.finish(line, line.endReason ?? reason, null)
  }

  /** The far end of a line leaves before who is called in its place has answered: the leg waits for that one. */
  letGo(line: Line): void {
    const { sessionId } = line
    if (this.outlives(line, LET_GO)) this.#leave(sessionId, 'transfer_completed')
  }

  /**
   * Whether somebody is called in the place of a line's far end, which has hung up: many do so once their transfer is accepted (RFC 5589
   * §6.2). The leg then waits for the other one, and ends if there is no answer.
   */
  outlives(line: Line, cause: LegCause | typeof LET_GO): boolean {
    const attempt = [...this.#pending].find(one => one.line === line)
    if (attempt === undefined) return false
    attempt.left = cause
    this.#lines.bind(line, '')
    this.#hear(attempt, attempt.next.early)
    return true
  }

  /** Calls in the place of this line are no longer wanted. */
  lineOver(line: Line): void {
    for (const attempt of this.#pending) if (attempt.line === line) this.#giveUp(attempt, 487)
  }
}
