import { randomInt } from 'node:crypto'
import type { SipEndpoint } from '../../media/signalling/endpoint/sip-endpoint.ts'
import type { Body, UaEvent } from '../../sip/agent-types.ts'
import { DTMF_RELAY, formatDtmfInfo } from '../../sip/dtmf-info.ts'
import { type Reason, reasonFields } from '../../sip/message/reason.ts'
import {
  answerOffer,
  applyAnswer,
  type Capabilities,
  createOffer,
  type NegotiatedMedia,
  type NegotiationError,
  PCMA,
  PCMU,
} from '../../sip/sdp/offer-answer.ts'
import { type Direction, parseSdp } from '../../sip/sdp/sdp.ts'
import type { Timeline } from '../timeline.ts'
import type { Voice } from '../voices.ts'
import type { HeardPacket, PhoneAudio, PressOptions } from './phone-audio.ts'

const SDP = 'application/sdp'
const CODECS = { PCMU, PCMA }
export type PhoneCodec = keyof typeof CODECS

export interface MediaOptions {
  /** In order of preference. Default PCMU alone. */
  codecs?: readonly PhoneCodec[]
  /** Offer and accept RFC 4733. Default true; false: keys are in-band. */
  telephoneEvent?: boolean
  /** What is sent from the first packet on. Default silence. */
  voice?: Voice
}

/** The final response to an INVITE. */
type Outcome =
  | { status: 200 }
  | { status: number; reason: string; retryAfterS: number | null; origin: 'local' | 'remote' }

type CallEnd = Pick<Extract<UaEvent, { kind: 'ended' }>, 'by' | 'cause' | 'reasonHeader'>

/** A promise with its resolve function. It never rejects, so that nobody has to await it. */
class Signal<T> {
  resolve: (value: T) => void = () => {}
  readonly promise = new Promise<T>(resolve => {
    this.resolve = resolve
  })
}

/** One call of a phone, in either direction. */
export class PhoneCall {
  readonly audio: PhoneAudio
  readonly #sip: SipEndpoint
  readonly #capabilities: Capabilities
  readonly #sdpId = String(randomInt(1, 2 ** 47))
  readonly #outcome = new Signal<Outcome>()
  readonly #ended = new Signal<CallEnd>()
  readonly #ringing = new Signal<number>()
  readonly #confirmed = new Signal<void>()
  #reinvited: Signal<number> | null = null
  /** Our direction, also in answers to offers of the other side. */
  direction: 'sendrecv' | 'sendonly' | 'inactive' = 'sendrecv'
  /** The last description that we sent. */
  #description: Uint8Array | null = null
  /** The offer of an incoming call. */
  readonly #offer: Body | null
  /** The direction that the other side wrote into its last description. */
  remoteDirection: Direction | null = null
  /** How often the other side changed the session. */
  reinvitesReceived = 0
  #sessionId = ''
  /** The far end's tag while it rings. */
  #earlyTag: string | null = null

  constructor(sip: SipEndpoint, audio: PhoneAudio, host: string, options: MediaOptions, offer: Body | null = null) {
    this.#sip = sip
    this.audio = audio
    this.#offer = offer
    this.#capabilities = {
      codecs: (options.codecs ?? ['PCMU']).map(name => CODECS[name]),
      telephoneEvent: options.telephoneEvent ?? true,
      host,
      port: audio.port,
    }
    if (options.voice !== undefined) audio.voice = options.voice
  }

  get sessionId(): string {
    return this.#sessionId
  }

  get heard(): Timeline {
    return this.audio.heard
  }

  get said(): Timeline {
    return this.audio.said
  }

  get packets(): readonly HeardPacket[] {
    return this.audio.packets
  }

  get keysHeard(): string {
    return this.audio.keysHeard
  }

  get codec(): string | null {
    return this.audio.media?.codec.name ?? null
  }

  /** Resolves with the final response to the INVITE. */
  get outcome(): Promise<Outcome> {
    return this.#outcome.promise
  }

  /** Resolves with the first status from 101 to 199; never, if there is none. */
  get ringing(): Promise<number> {
    return this.#ringing.promise
  }

  /** Resolves when our 2xx is acknowledged. */
  get confirmed(): Promise<void> {
    return this.#confirmed.promise
  }

  /** Resolves when the answered call ends. */
  get ended(): Promise<CallEnd> {
    return this.#ended.promise
  }

  say(voice: Voice): void {
    this.audio.voice = voice
  }

  /** Presses keys; resolves when they have been sent. `info`: as SIP INFO, all at once. */
  async press(keys: string, options: PressOptions | { as: 'info' } = { as: 'rfc4733' }): Promise<void> {
    if (options.as !== 'info') return this.audio.press(keys, options)
    for (const digit of keys) {
      const body = formatDtmfInfo({ digit, durationMs: 160 })
      this.#sip.do((agent, now) => agent.info(this.#sessionId, DTMF_RELAY, body, now))
    }
  }

  /** Puts the other side on hold: `sendonly`, or `inactive`. Resolves with the status of the answer. */
  hold(direction: 'sendonly' | 'inactive' = 'sendonly'): Promise<number> {
    return this.#reinvite(direction)
  }

  resume(): Promise<number> {
    return this.#reinvite('sendrecv')
  }

  /** `reasons`: what its BYE says (RFC 3326). */
  hangup(reasons: readonly Reason[] = []): Promise<CallEnd> {
    this.#sip.do((agent, now) => agent.bye(this.#sessionId, now, reasonFields(reasons)))
    return this.ended
  }

  /** Asks the other side to call somebody else (REFER), in place of another call of ours if one is given. */
  refer(to: string, inPlaceOf?: PhoneCall): void {
    const replaces = inPlaceOf?.dialog() ?? null
    this.#sip.do((agent, now) => agent.refer(this.#sessionId, { to, replaces, referredBy: null }, now).actions)
  }

  /** The value of Replaces that identifies this dialog to the other side. */
  dialog(): string {
    let named = ''
    this.#sip.do(agent => {
      const dialog = agent.dialogOf(this.#sessionId, this.#earlyTag)
      if (dialog !== null) named = `${dialog.callId};to-tag=${dialog.remoteTag};from-tag=${dialog.localTag}`
      return []
    })
    return named
  }

  /** Cancels our unanswered INVITE. */
  cancel(): void {
    this.#sip.do((agent, now) => agent.cancel(this.#sessionId, now))
  }

  // ------------------------------------------------------------------ an incoming call

  ring(status = 180): void {
    this.#sip.do((agent, now) => agent.provisional(this.#sessionId, status, null, now))
  }

  /** Sends early media from now on. */
  early(): void {
    const bytes = this.#offer === null ? null : this.#makeAnswer(this.#offer)
    if (bytes === null) throw new Error('there is no offer to answer early')
    this.#sip.do((agent, now) => agent.provisional(this.#sessionId, 183, { type: SDP, bytes }, now))
  }

  reject(status: number): void {
    this.#sip.do((agent, now) => agent.reject(this.#sessionId, status, now))
    this.audio.close()
  }

  answer(): void {
    const description = this.#offer === null ? this.#makeOffer('sendrecv') : this.#makeAnswer(this.#offer)
    if (description === null) this.reject(488)
    else this.#sip.do((agent, now) => agent.accept(this.#sessionId, { type: SDP, bytes: description }, now))
  }

  // ------------------------------------------------------------------ for the phone

  /** The offer of our INVITE. */
  makeFirstOffer(): Body {
    return { type: SDP, bytes: this.#makeOffer('sendrecv') }
  }

  begin(sessionId: string): void {
    this.#sessionId = sessionId
  }

  /** Handles an event of the user agent about this call. */
  onEvent(event: UaEvent): void {
    switch (event.kind) {
      case 'provisional':
        this.#earlyTag = event.tag
        this.#ringing.resolve(event.status)
        break
      case 'answered':
        this.#answered(event.body)
        break
      case 'rejected': {
        const { status, reason, retryAfterS, origin } = event
        this.#close({ status, reason, retryAfterS, origin })
        break
      }
      case 'confirmed':
        if (event.body !== null) this.#apply(event.body.bytes)
        this.#confirmed.resolve()
        break
      case 'reinvite':
        this.#answerReinvite(event.offer)
        break
      case 'reinviteConfirmed':
        if (event.body !== null) this.#apply(event.body.bytes)
        break
      case 'reinviteAnswered':
        if (event.body !== null && !event.refresh) this.#apply(event.body.bytes)
        if (!event.refresh) this.#reinvited?.resolve(200)
        break
      case 'reinviteRejected':
        this.#reinvited?.resolve(event.status)
        break
      case 'ended':
        this.#ended.resolve({ by: event.by, cause: event.cause, reasonHeader: event.reasonHeader })
        this.#close({ status: 487, reason: event.cause, retryAfterS: null, origin: event.by })
        break
    }
  }

  // ------------------------------------------------------------------ descriptions

  #session(): { id: string; previous: Uint8Array | null } {
    return { id: this.#sdpId, previous: this.#description }
  }

  #makeOffer(direction: Direction): Uint8Array {
    this.#description = createOffer(this.#capabilities, direction, this.#session())
    return this.#description
  }

  #makeAnswer(offer: Body): Uint8Array | null {
    this.#note(offer.bytes)
    const result = answerOffer(offer.bytes, this.#capabilities, this.direction, this.#session())
    if ('error' in result) return null
    this.#description = result.answer
    this.audio.connect(result.media)
    return result.answer
  }

  #answered(body: Body | null): void {
    if (this.#description === null) {
      const answer = body === null ? null : this.#makeAnswer(body)
      if (answer === null) return void this.hangup()
      this.#sip.do((agent, now) => agent.acknowledge(this.#sessionId, { type: SDP, bytes: answer }, now))
    } else if (body !== null) this.#apply(body.bytes)
    this.#outcome.resolve({ status: 200 })
  }

  #apply(answer: Uint8Array): void {
    this.#note(answer)
    const media: NegotiatedMedia | NegotiationError = applyAnswer(this.#description!, answer, this.#capabilities)
    if (!('error' in media)) this.audio.connect(media)
  }

  #note(description: Uint8Array): void {
    const parsed = parseSdp(description)
    if (!('error' in parsed)) this.remoteDirection = parsed.media[0]?.direction ?? null
  }

  #reinvite(direction: 'sendrecv' | 'sendonly' | 'inactive'): Promise<number> {
    this.direction = direction
    this.#reinvited = new Signal()
    const bytes = this.#makeOffer(direction)
    this.#sip.do((agent, now) => agent.reinvite(this.#sessionId, { type: SDP, bytes }, now))
    return this.#reinvited.promise
  }

  #answerReinvite(offer: Body | null): void {
    this.reinvitesReceived++
    const bytes = offer === null ? this.#makeOffer(this.direction) : this.#makeAnswer(offer)
    this.#sip.do((agent, now) =>
      bytes === null
        ? agent.rejectReinvite(this.#sessionId, 488, now)
        : agent.acceptReinvite(this.#sessionId, { type: SDP, bytes }, now),
    )
  }

  #close(outcome: Outcome): void {
    this.#outcome.resolve(outcome)
    this.audio.close()
  }
}
