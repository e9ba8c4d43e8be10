import { bracketed } from '../../sip/message/uri.ts'
import {
  answerOffer,
  applyAnswer,
  type Capabilities,
  createOffer,
  type NegotiatedMedia,
} from '../../sip/sdp/offer-answer.ts'
import type { Body } from '../../sip/user-agent.ts'
import type { EndedReason, EventName, Events, Failure } from '../protocol.ts'
import { isFailure } from '../protocol.ts'
import { capabilitiesOf, type Described, isOver, type Line, legMediaOf, type MayReach } from './line.ts'
import type { SipEndpoint } from './sip-endpoint.ts'

export const SDP = 'application/sdp'

export interface DescriptionsOptions {
  /** The address in our descriptions. */
  advertisedHost: string
  sip: () => SipEndpoint
  /** The policy of SIP for the hosts of descriptions. */
  mayReach: MayReach
  hangup: (line: Line, reason: EndedReason) => void
  emit: <N extends EventName>(name: N, body: Events[N]) => void
}

/** Offers and answers of the lines (RFC 3264): first ones, changes by re-INVITE, hold; and the audio that follows them. */
export class Descriptions {
  readonly #options: DescriptionsOptions

  constructor(options: DescriptionsOptions) {
    this.#options = options
  }

  /** The far end has answered our call; `body`: its description. */
  async answered(line: Line, body: Body | null): Promise<void> {
    clearTimeout(line.timer)
    if (line.state === 'answered' || line.state === 'ended') return
    const media = body === null ? null : applyAnswer(line.description!, body.bytes, this.#capabilities(line))
    line.state = 'answered'
    if (media === null || 'error' in media) {
      this.#options.hangup(line, 'codec_mismatch')
      return
    }
    const connected = await this.connect(line, media)
    if (isFailure(connected) && !isOver(line)) this.#options.hangup(line, 'capacity')
  }

  /** The answer to an offer of ours came in an ACK. */
  async lateAnswer(line: Line, body: Body): Promise<void> {
    if (line.description === null) return
    const media = applyAnswer(line.description, body.bytes, this.#capabilities(line))
    if ('error' in media) {
      this.#options.hangup(line, 'codec_mismatch')
      return
    }
    const connected = await this.connect(line, media)
    if (isFailure(connected) && !isOver(line)) this.#options.hangup(line, 'capacity')
  }

  /** The far end changes the session; `offer` null: it asks for ours. */
  async reinvited(line: Line, offer: Body | null): Promise<void> {
    const { sessionId } = line
    if (offer === null) {
      const description = this.offer(line)
      line.description = description
      line.told = directionOf(line)
      this.#options.sip().do((agent, now) => agent.acceptReinvite(sessionId, { type: SDP, bytes: description }, now))
      return
    }
    const direction = directionOf(line)
    const negotiated = this.answer(line, offer)
    if ('error' in negotiated) {
      this.#options
        .sip()
        .do((agent, now) => agent.rejectReinvite(sessionId, 488, now, [incompatible(this.#options.advertisedHost)]))
      return
    }
    line.description = negotiated.answer
    line.told = direction
    await this.connect(line, negotiated.media)
    this.#options
      .sip()
      .do((agent, now) => agent.acceptReinvite(sessionId, { type: SDP, bytes: negotiated.answer }, now))
  }

  // ------------------------------------------------------------------ hold

  /** Puts a leg on hold or takes it back; a SIP peer is told (RFC 3264 §8.4). Its audio has been changed already. */
  hold(line: Line, held: boolean): void {
    line.onHold = held
    this.tellHold(line)
  }

  /** One re-INVITE at a time: while one is open, theirs or ours, its end leads here again. */
  tellHold(line: Line): void {
    const direction = directionOf(line)
    if (line.state !== 'answered' || line.asked !== null || line.told === direction) return
    const before = line.description
    const offer = this.offer(line)
    let isSent = false
    this.#options.sip().do((agent, now) => {
      const actions = agent.reinvite(line.sessionId, { type: SDP, bytes: offer }, now)
      isSent = actions.length > 0
      return actions
    })
    if (!isSent) return
    line.asked = { direction, before }
    line.description = offer
  }

  async holdAnswered(line: Line, body: Body | null): Promise<void> {
    if (line.asked !== null) {
      line.told = line.asked.direction
      line.asked = null
      if (body !== null) await this.lateAnswer(line, body)
    }
    this.tellHold(line)
  }

  /** It will not be told; what it hears and who hears it is ours to decide in any case. */
  holdRefused(line: Line): void {
    if (line.asked !== null) {
      line.description = line.asked.before
      line.told = line.asked.direction
      line.asked = null
    }
    this.tellHold(line)
  }

  /** Starts the audio by what was agreed on, or changes it. */
  async connect(line: Line, media: NegotiatedMedia): Promise<object | Failure> {
    const enter = line.room
    const agreed = legMediaOf(media, line, this.#options.mayReach)
    line.room = null
    if (enter !== null) {
      line.answeredMs = performance.now()
      this.#options.emit('leg.answered', { legId: line.legId })
    }
    const connected = await line.engine!.request('leg.connect', {
      legId: line.legId,
      media: agreed,
      enter,
    })
    if (!isFailure(connected) && media.held !== line.held) {
      line.held = media.held
      this.#options.emit(media.held ? 'leg.held' : 'leg.resumed', { legId: line.legId })
    }
    return connected
  }

  /** What a leg that is about to be dialled offers. */
  firstOffer(line: Described & Pick<Line, 'sdpId'>): Uint8Array {
    return createOffer(this.#capabilities(line), 'sendrecv', { id: line.sdpId, previous: null })
  }

  /** Our answer to an offer of the far end's, and what both say. */
  answer(line: Line, offer: Body): ReturnType<typeof answerOffer> {
    return answerOffer(offer.bytes, this.#capabilities(line), directionOf(line), sessionOf(line))
  }

  #capabilities(line: Described): Capabilities {
    return capabilitiesOf(line, this.#options.advertisedHost)
  }

  offer(line: Line): Uint8Array {
    return createOffer(this.#capabilities(line), directionOf(line), sessionOf(line))
  }
}

/** Why a description is refused (RFC 3261 §20.43). */
export const incompatible = (host: string): [string, string] => [
  'Warning',
  `305 ${bracketed(host)} "Incompatible media format"`,
]

const directionOf = (line: Line): Line['told'] => (line.onHold ? 'sendonly' : 'sendrecv')
const sessionOf = (line: Line) => ({ id: line.sdpId, previous: line.description })
