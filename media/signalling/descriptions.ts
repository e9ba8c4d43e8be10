import { isIP } from 'node:net'
import { bracketed } from '../../sip/message/uri.ts'
import {
  type AcceptedOffer,
  acceptOffer,
  applyAnswer,
  createOffer,
  type NegotiatedMedia,
  type NegotiationError,
} from '../../sip/sdp/offer-answer.ts'
import { audioOf, isWithoutAudio } from '../../sip/sdp/sdes-agreement.ts'
import type { PayloadFormat } from '../../sip/sdp/sdp.ts'
import { nothingTaken } from '../../sip/sdp/session.ts'
import type { Body } from '../../sip/user-agent.ts'
import type { EarlyAudio, EngineLeg, LegBeginning } from '../engine/engine-protocol.ts'
import { type Family, familyOf, isAny } from '../kernel/own-addresses.ts'
import type { LegMedia } from '../legs/leg-media.ts'
import type { EndedReason, EventName, Events, Failure, ToneSource } from '../protocol.ts'
import { isFailure } from '../protocol.ts'
import type { SipEndpoint } from './endpoint/sip-endpoint.ts'
import {
  capabilitiesOf,
  type Described,
  isOver,
  type Line,
  legMediaOf,
  type MayReach,
  statusOfReason,
  stricterAfter,
} from './line.ts'

export const SDP = 'application/sdp'

interface DescriptionsOptions {
  sip: () => SipEndpoint
  /** The policy of SIP for the hosts of descriptions. */
  mayReach: MayReach
  /** Fingerprint of our certificate, for browsers; null: no WebRTC. */
  fingerprint: string | null
  hangup: (line: Line, reason: EndedReason) => void
  emit: <N extends EventName>(name: N, body: Events[N]) => void
}

/** Offers and answers of the lines (RFC 3264): initial ones, changes by re-INVITE, hold; and their effect on the audio. */
export class Descriptions {
  readonly #options: DescriptionsOptions

  constructor(options: DescriptionsOptions) {
    this.#options = options
  }

  /** The far end has answered our call; `body`: its description, null: an UPDATE before has settled it. */
  async answered(line: Line, body: Body | null): Promise<void> {
    clearTimeout(line.timer)
    if (line.state === 'answered' || line.state === 'ended') return
    const media = body === null ? (line.early?.media ?? null) : this.agreed(line, body)
    line.state = 'answered'
    if (media === null) this.#unusable(line, body !== null && audioOf(body.bytes) === null)
    else await this.connectAnswered(line, media)
  }

  /** A call of ours is answered without audio: it ends, unless another kind of encryption may help. */
  #unusable(line: Line, isRefused: boolean): void {
    const isOpen = isRefused && line.media === null && line.description !== null
    if (!isOpen || !this.asksAgain(line)) this.#options.hangup(line, 'codec_mismatch')
  }

  /** Who has answered, and refuses our audio, may insist on encryption of another kind, and is asked in the call. False: there is no other. */
  asksAgain(line: Line): boolean {
    const stricter = stricterAfter(line, statusOfReason('codec_mismatch'))
    if (stricter === null) return false
    line.srtp = stricter
    line.description = nothingTaken(line.description!)
    return this.#ask(line, 'sendrecv', { takesTime: true })
  }

  /** Starts or changes the audio of a call that is answered: it ends if that fails. */
  async connectAnswered(line: Line, media: NegotiatedMedia): Promise<void> {
    const connected = await this.connect(line, media)
    if (isFailure(connected) && !isOver(line)) this.#options.hangup(line, 'capacity')
  }

  /** The answer to an offer of ours in the call, or in an ACK. `isRepeated`: it was made because the one before could not be used. */
  async lateAnswer(line: Line, body: Body, isRepeated = false): Promise<void> {
    // A fax has no audio.
    if (audioOf(line.description) === null) return
    const media = this.agreed(line, body)
    if (media !== null) await this.connectAnswered(line, media)
    else if (line.media === null) this.#unusable(line, audioOf(body.bytes) === null)
    else if (isWithoutAudio(body.bytes)) await this.#silence(line, line.media)
    // The session stays as it was (RFC 3261 §14.1); what the far end believes it has agreed to is mended once.
    else if (!isRepeated) this.#ask(line, directionOf(line), { takesTime: true, isRepeated: true })
  }

  /** The far end wants neither audio nor reports until one side offers some again (RFC 3264 §6): that is a hold, unless it answers ours. */
  async #silence(line: Line, before: LegMedia): Promise<void> {
    const media: LegMedia = { ...before, direction: 'inactive', remote: { ...before.remote, host: '0.0.0.0' } }
    line.media = media
    await line.engine!.request('leg.connect', { legId: line.legId, media, enter: null })
    if (line.told !== 'sendonly') this.begun(line, { held: true })
  }

  /** The far end changes the session; `offer` null: it asks for ours. */
  async reinvited(line: Line, offer: Body | null): Promise<void> {
    const { sessionId } = line
    if (offer === null) {
      this.#overtaken(line)
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
        .do((agent, now) => agent.rejectReinvite(sessionId, 488, now, [incompatible(line, negotiated.error)]))
      return
    }
    this.#overtaken(line)
    line.description = negotiated.answer
    line.told = direction
    if (line.state === 'answered') await this.connect(line, negotiated.media)
    else await this.#updatedEarly(line, negotiated.media)
    this.#options
      .sip()
      .do((agent, now) => agent.acceptReinvite(sessionId, { type: SDP, bytes: negotiated.answer }, now))
    // An UPDATE is over with that, without an ACK that would lead there: a hold may have ended since the answer was made.
    this.tellHold(line)
  }

  // ------------------------------------------------------------------ hold

  /** Puts a leg on hold or resumes it; a SIP peer is notified (RFC 3264 §8.4). The audio was changed before. */
  hold(line: Line, held: boolean): void {
    line.onHold = held
    this.tellHold(line)
  }

  /** One re-INVITE at a time: while one is open, theirs or ours, its end leads here again. */
  tellHold(line: Line): void {
    const direction = directionOf(line)
    if (line.state === 'answered' && line.asked === null && line.told !== direction) this.#ask(line, direction)
  }

  /** False: it cannot be asked now. `takesTime`: by re-INVITE. `isRepeated`: for the codec in use alone. */
  #ask(line: Line, direction: ReturnType<typeof directionOf>, { takesTime = false, isRepeated = false } = {}): boolean {
    const before = line.description
    const offer = this.offer(isRepeated && line.media !== null ? { ...line, codecs: [line.media.codec] } : line)
    let isSent = false
    this.#options.sip().do((agent, now) => {
      const actions = agent.reinvite(line.sessionId, { type: SDP, bytes: offer }, now, takesTime)
      isSent = actions.length > 0
      return actions
    })
    if (isSent) {
      line.asked = { direction, before, isRepeated }
      line.description = offer
    }
    return isSent
  }

  async holdAnswered(line: Line, body: Body | null): Promise<void> {
    const { asked } = line
    line.asked = null
    if (asked !== null) line.told = asked.direction
    if (body !== null) await this.lateAnswer(line, body, asked?.isRepeated)
    this.tellHold(line)
  }

  /** The far end is not told; in any case we alone decide what it hears and who hears it. */
  holdRefused(line: Line): void {
    if (line.asked !== null) {
      line.description = line.asked.before
      line.told = line.asked.direction
      line.asked = null
      if (line.media === null) this.#unusable(line, true)
    }
    this.tellHold(line)
  }

  /** After glare, our waiting change is out of date: our answer to theirs already contains it. */
  #overtaken(line: Line): void {
    if (line.asked === null) return
    line.asked = null
    this.#options.sip().do(agent => agent.withdrawReinvite(line.sessionId))
  }

  /** Starts or changes the audio as negotiated; the call is answered. */
  async connect(line: Line, media: NegotiatedMedia): Promise<EngineLeg | Failure> {
    const begin = this.beginning(line, media)
    if (begin.enter !== null) {
      line.answeredMs = performance.now()
      this.#options.emit('leg.answered', { legId: line.legId })
    }
    const connected = await line.engine!.request('leg.connect', { legId: line.legId, ...begin })
    if (!isFailure(connected)) this.begun(line, media)
    return connected
  }

  /** How the audio of an answered line starts. */
  beginning(line: Line, media: NegotiatedMedia): LegBeginning {
    const enter = line.room
    line.room = null
    line.early = null
    line.media = legMediaOf(media, line, this.#options.mayReach)
    return { media: line.media, enter }
  }

  /**
   * The far end has left, and `next` is to replace it: nothing more is sent to the old one, and the early media of the next one is heard,
   * or `ringing`.
   */
  async hear({ legId, engine, media: before }: Line, next: Line, ringing: ToneSource | undefined): Promise<void> {
    const early = next.early?.media
    const media = early == null ? before : legMediaOf(early, next, this.#options.mayReach)
    if (media === null) return
    const mayHear = early != null && (media.direction === 'sendrecv' || media.direction === 'recvonly')
    const heard: LegMedia = { ...media, direction: mayHear ? 'recvonly' : 'inactive' }
    await engine!.request('leg.connect', { legId, media: heard, enter: null, ...(ringing && { ringing }) })
  }

  /** Its audio is as negotiated: reports whether the far end holds it. */
  begun(line: Line, { held }: Pick<NegotiatedMedia, 'held'>): void {
    if (held === line.held) return
    line.held = held
    this.#options.emit(held ? 'leg.held' : 'leg.resumed', { legId: line.legId })
  }

  // ------------------------------------------------------------------ before the answer

  /** Early media of the called party. An unacceptable description is ignored, and the answer decides. */
  async early(line: Line, body: Body): Promise<void> {
    const media = line.description === null ? null : this.agreed(line, body)
    if (media !== null) await this.connectEarly(line, media, 'from_called')
  }

  /** The caller's PRACK has answered our offer, or brings an offer of its own (RFC 3262 §5). */
  async acknowledged(line: Line, body: Body, isOffer: boolean): Promise<void> {
    if (!isOffer) {
      if (line.early !== null) line.early.isSettled = true
      if (line.state === 'answered') return this.lateAnswer(line, body)
      const media = line.description === null ? null : this.agreed(line, body)
      if (media === null) this.#options.hangup(line, 'codec_mismatch')
      else await this.connectEarly(line, media, 'to_caller')
      return
    }
    const negotiated = this.answer(line, body)
    const isAgreed = !('error' in negotiated)
    if (isAgreed) {
      line.description = negotiated.answer
      if (line.early !== null) line.early.isSettled = true
      const isAnswered = line.state === 'answered'
      await (isAnswered ? this.connect(line, negotiated.media) : this.connectEarly(line, negotiated.media, 'to_caller'))
    }
    const answer = isAgreed ? { type: SDP, bytes: negotiated.answer } : null
    this.#options.sip().do((agent, now) => agent.answerPrack(line.sessionId, answer, now))
  }

  /** An UPDATE before the answer, which then brings no other description (RFC 3311 §5.2). */
  async #updatedEarly(line: Line, media: NegotiatedMedia): Promise<void> {
    await this.connectEarly(line, media, line.direction === 'inbound' ? 'to_caller' : 'from_called')
    if (line.early !== null) line.early.isSettled = true
  }

  /** Starts or changes the audio while the call is unanswered. */
  async connectEarly(line: Line, media: NegotiatedMedia, early: EarlyAudio): Promise<object | Failure> {
    if (isOver(line) || line.state === 'answered') return {}
    line.early = { isSettled: false, ...line.early, media }
    return line.engine!.request('leg.connect', {
      legId: line.legId,
      media: legMediaOf(media, line, this.#options.mayReach),
      enter: line.room,
      early,
    })
  }

  /** The offer for a leg that is about to be dialled. */
  firstOffer(line: Described & Pick<Line, 'sdpId'>): Uint8Array {
    return createOffer(capabilitiesOf(line, this.#options.fingerprint), 'sendrecv', { id: line.sdpId, previous: null })
  }

  /** Our answer to an offer of the far end, and the result of the negotiation. */
  answer(line: Line, offer: Body): { answer: Uint8Array; media: NegotiatedMedia } | { error: OfferError } {
    const accepted = this.accept(line, offer)
    return 'error' in accepted ? accepted : { media: accepted.media, answer: accepted.answer(line) }
  }

  /** As above, before our port is known. */
  accept(line: Line, offer: Body): AcceptedOffer | { error: OfferError } {
    const accepted = acceptOffer(
      offer.bytes,
      capabilitiesOf(line, this.#options.fingerprint),
      directionOf(line),
      sessionOf(line),
    )
    if ('error' in accepted) return accepted
    hears(line, accepted.media)
    const error = problemOfAddress(line, accepted.media)
    return error === null ? accepted : { error }
  }

  /** The result of the far end's answer to our offer; null: audio cannot flow. */
  agreed(line: Line, body: Body): NegotiatedMedia | null {
    const media = applyAnswer(line.description!, body.bytes, capabilitiesOf(line, this.#options.fingerprint))
    if ('error' in media) return null
    hears(line, media)
    if (problemOfAddress(line, media) !== null) return null
    // An answer of `inactive` to our hold does not tell whether the far end holds too.
    return line.told === 'sendonly' && media.held ? { ...media, held: line.held } : media
  }

  offer(line: Line): Uint8Array {
    return createOffer(capabilitiesOf(line, this.#options.fingerprint), directionOf(line), sessionOf(line))
  }
}

/** Its audio would need an address family for which the leg has no socket. */
const OTHER_FAMILY = 'address_family'
/** A name that was looked up, and leads nowhere (`NamedHosts`). */
const UNKNOWN_HOST = 'unknown_host'
type OfferError = NegotiationError['error'] | typeof OTHER_FAMILY | typeof UNKNOWN_HOST

/** Why a description is refused (RFC 3261 §20.43). */
export const incompatible = (line: Pick<Line, 'own'>, error: string): [string, string] => {
  if (error === OTHER_FAMILY) return warning(line, 301, 'Incompatible network address formats')
  if (error === UNKNOWN_HOST) return warning(line, 399, 'The host in the description is not known')
  if (error === 'multicast') return warning(line, 330, 'Multicast not available')
  return error === 'no_audio'
    ? warning(line, 304, 'Media type not available')
    : warning(line, 305, 'Incompatible media format')
}

/** @param text without quotes and control characters */
export const warning = ({ own }: Pick<Line, 'own'>, code: number, text: string): [string, string] => [
  'Warning',
  `${code} ${bracketed(own?.advertised ?? 'localhost')} "${text}"`,
]

/** Why audio cannot be sent there; null: it can. An unspecified address fits every family. */
function problemOfAddress({ own }: Line, { remoteHost, dtls }: NegotiatedMedia): OfferError | null {
  if ((dtls !== null && dtls.ufrag !== null) || isAny(remoteHost)) return null
  if (isIP(remoteHost) === 0) return UNKNOWN_HOST
  return familyOf(remoteHost) === own?.family ? null : OTHER_FAMILY
}

/** The address family that an offer wants for audio; null: unspecified, as with ICE. */
export function familyOfOffer({ bytes }: Body): Family | null {
  const text = Buffer.from(bytes).toString('latin1')
  if (/^a=ice-ufrag:/m.test(text) && /^m=audio \d+ UDP\/TLS\//m.test(text)) return null
  const found = /^c=IN IP([46]) /m.exec(text)?.[1]
  return found === undefined ? null : found === '4' ? 4 : 6
}

const directionOf = (line: Line): 'sendrecv' | 'sendonly' => (line.onHold ? 'sendonly' : 'sendrecv')
const sessionOf = (line: Line) => ({ id: line.sdpId, previous: line.description, theirs: line.theirs })

/** The far end has given payload types their meaning, which each keeps. */
function hears(line: Line, { theirs }: NegotiatedMedia): void {
  const isNew = (one: PayloadFormat): boolean => !line.theirs.some(({ payloadType }) => payloadType === one.payloadType)
  line.theirs = [...line.theirs, ...theirs.filter(isNew)]
}
