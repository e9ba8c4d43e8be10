import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import { type G711, PCMA, PCMU } from '../../codecs/g711.ts'
import { Plc } from '../../codecs/plc.ts'
import type { SrtpKeys } from '../../sip/sdp/sdes.ts'
import { LEG_SAMPLES, Leg, type LegHooks } from '../engine/leg.ts'
import { LegReports } from '../engine/leg-reports.ts'
import type { CodecName, DtmfMode, Quality } from '../protocol.ts'
import { SrtpWire } from '../srtp/srtp-wire.ts'
import { DtmfEventReader, EVENT_TIMEOUT_MS } from './dtmf-events.ts'
import { JitterBuffer } from './jitter.ts'
import { isKey, KEY_MS, KeySender } from './key-sender.ts'
import { SourceLatch } from './latch.ts'
import { OneWayWatch } from './one-way-watch.ts'
import type { PacketOut } from './packet-out.ts'
import { isRtcp, parseRtp, RTP_HEADER_BYTES, RtpPacket, RtpSender } from './rtp.ts'
import { SenderClock } from './sender-clock.ts'

/** A party that sends nothing for this long, although it should, is gone [ms]. */
const RTP_TIMEOUT_MS = 60_000

const UNSPECIFIED = ['0.0.0.0', '::']

const LAWS: Record<CodecName, G711> = { PCMU, PCMA }

/** What a description exchange agreed on, as the engine needs it. */
export interface LegMedia {
  codec: CodecName
  /** The payload type that we send. */
  payloadType: number
  receivePayloadTypes: number[]
  telephoneEvent: { send: number | null; receive: number | null }
  remote: {
    host: string
    port: number
    rtcpHost: string
    rtcpPort: number
    rtcpMux: boolean
    /** Where its signalling comes from. */
    signallingHost: string | null
    /** Whether the address policy lets us send to `host`, and to `rtcpHost`. */
    isReachable: boolean
    isRtcpReachable: boolean
  }
  /** Ours: `sendonly` means that we do not listen. */
  direction: 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'
  dtmf: DtmfMode
  /** Null: packets are not encrypted. */
  srtp: SrtpKeys | null
}

/** A party on RTP: its codec, its jitter buffer, its address latch and its keys end here. Pure: packets and the time come in by arguments. */
export class RtpLeg extends Leg {
  readonly latch = new SourceLatch()
  /** Packets that were no RTP, or of an unknown payload type. */
  #refused = 0
  readonly #hooks: LegHooks
  readonly #plain: PacketOut
  readonly #sendInfo: (key: string, durationMs: number) => void
  readonly #packet = new RtpPacket()
  readonly #payload = new Uint8Array(LEG_SAMPLES)
  readonly #frame: Frame = new Int16Array(LEG_SAMPLES)
  readonly #plc = new Plc()
  readonly #keys = new DtmfEventReader()
  readonly #clock = new SenderClock()
  readonly #oneWay = new OneWayWatch()
  readonly #keySender = new KeySender()
  readonly #sender: RtpSender
  readonly #reports: LegReports
  #jitter: JitterBuffer | null = null
  #media: LegMedia | null = null
  #srtp: SrtpWire | null = null
  #law: G711 = PCMU
  #lastPacketAt = Number.POSITIVE_INFINITY
  #keyBeganAt = 0
  #sourceSsrc = -1

  /**
   * @param random 32 random bits, called a few times at the start (RFC 3550 §5.1)
   * @param sendInfo sends a key by signalling (SIP INFO)
   */
  constructor(
    id: string,
    out: PacketOut,
    hooks: LegHooks,
    random: () => number,
    sendInfo: (key: string, durationMs: number) => void,
  ) {
    super(id, hooks)
    this.#plain = out
    this.#sendInfo = sendInfo
    this.#hooks = hooks
    this.#sender = new RtpSender({
      ssrc: random(),
      // In the lower half, so that who misses the first packets can tell how often it has rolled over (RFC 3711 §3.3.1).
      sequence: random() & 0x7fff,
      timestamp: random(),
      maxPayload: LEG_SAMPLES,
    })
    this.#reports = new LegReports(this.#sender, random)
  }

  /** A description was agreed on: the first one starts the audio, later ones change it (hold, other codec or address). */
  connect(media: LegMedia, now: number): void {
    const listened = this.#listens
    this.#media = media
    if (this.#listens && !listened) this.#oneWay.expect(now)
    this.#encrypt(media.srtp)
    const law = LAWS[media.codec]
    if (this.#jitter === null || law !== this.#law) {
      this.#law = law
      this.#jitter = new JitterBuffer({ frameBytes: LEG_SAMPLES, frameMs: FRAME_MS, silenceByte: law.silence })
    }
    this.latch.describe(media.remote)
    this.#lastPacketAt = now
  }

  #encrypt(keys: SrtpKeys | null): void {
    if (keys === null) this.#srtp = null
    else if (this.#srtp === null) this.#srtp = new SrtpWire(this.#plain, keys)
    else this.#srtp.agree(keys)
  }

  get #out(): PacketOut {
    return this.#srtp ?? this.#plain
  }

  get codec(): CodecName | null {
    return this.#media === null ? null : this.#law.name
  }

  get packetsRefused(): number {
    return this.#refused + this.latch.refused
  }

  get quality(): Quality {
    return this.#reports.quality(this.codec, this.#jitter)
  }

  get #listens(): boolean {
    return this.#media?.direction === 'sendrecv' || this.#media?.direction === 'recvonly'
  }

  get #speaks(): boolean {
    return this.#media?.direction === 'sendrecv' || this.#media?.direction === 'sendonly'
  }

  /** A datagram on the RTP port. */
  rtp(datagram: Uint8Array, host: string, port: number, now: number): void {
    const media = this.#media
    if (media === null) return
    if (isRtcp(datagram)) {
      this.rtcp(datagram, host, now)
      return
    }
    const bytes = this.#srtp === null ? datagram : this.#srtp.openRtp(datagram)
    const packet = this.#packet
    if (bytes === null || !parseRtp(bytes, packet)) {
      this.#refused++
      return
    }
    const isEvent = packet.payloadType === media.telephoneEvent.receive
    const isAudio = media.receivePayloadTypes.includes(packet.payloadType)
    // Payload type 13 is comfort noise (RFC 3389): nothing to hear, but a sign of life.
    if (
      (!isAudio && !isEvent && packet.payloadType !== 13) ||
      !this.latch.accept(host, port, packet.ssrc, packet.sequence, now)
    ) {
      this.#refused++
      return
    }
    this.#lastPacketAt = now
    if (packet.ssrc !== this.#sourceSsrc) this.#newSource(packet.ssrc)
    this.#reports.received(packet, now)
    if (isAudio || isEvent) this.#oneWay.heard(now, packet.marker && isAudio)
    else this.#oneWay.fellSilent()
    if (isAudio) {
      this.#clock.observe(packet.timestamp, now)
      this.#jitter!.push(packet.sequence, packet.timestamp, bytes, packet.payloadOffset, packet.payloadLength, now)
      return
    }
    this.#jitter!.skip(packet.sequence)
    if (isEvent) this.#readKey(packet, bytes, now)
  }

  #readKey({ timestamp, payloadOffset, payloadLength, marker }: RtpPacket, bytes: Uint8Array, now: number): void {
    const { began } = this.#keys.read(timestamp, bytes, payloadOffset, payloadLength, marker, now)
    if (began !== null) {
      this.#keyBeganAt = now
      this.#hooks.key(this, began, 'rfc4733', this.#clock.timeOf(timestamp, now))
    }
    // For the rest of what it says that it lasts, and until the audio that came with it has been played.
    const lastsUntil = Math.max(now, this.#keyBeganAt + this.#keys.durationMs)
    this.keyDown(lastsUntil + EVENT_TIMEOUT_MS + this.#jitter!.currentDelayMs)
  }

  /** A datagram on the RTCP port. Of strangers it is no sign of life, and no report. */
  rtcp(datagram: Uint8Array, host: string, now: number): void {
    if (this.#media === null) return
    const { rtcpHost, isRtcpReachable } = this.#media.remote
    if (!(isRtcpReachable && host === rtcpHost) && !this.latch.isParty(host)) {
      this.#refused++
      return
    }
    const bytes = this.#srtp === null ? datagram : this.#srtp.openRtcp(datagram)
    if (bytes !== null && this.#reports.receive(bytes, now)) this.#lastPacketAt = now
    else this.#refused++
  }

  #newSource(ssrc: number): void {
    if (this.#sourceSsrc !== -1) {
      this.#jitter!.reset()
      this.#keys.reset()
      this.#clock.reset()
    }
    this.#sourceSsrc = ssrc
  }

  protected receive(now: number): Frame | null {
    const frame = this.#listens ? this.#decode(now) : null
    this.#keys.advance(now)
    if (this.#listens && now - this.#lastPacketAt > RTP_TIMEOUT_MS) {
      this.#lastPacketAt = now
      this.#hooks.timedOut(this)
    }
    if (this.#listens && this.#oneWay.isDue(now)) this.#hooks.oneWay(this)
    return frame
  }

  /** Where telephone events were not agreed on, keys come as tones, unless they come by signalling alone. */
  protected get hasToneKeys(): boolean {
    const media = this.#media
    if (media === null || media.dtmf === 'info' || media.dtmf === 'rfc4733') return false
    return media.telephoneEvent.receive === null
  }

  #decode(now: number): Frame | null {
    const frame = this.#frame
    switch (this.#jitter?.pull(this.#payload, now)) {
      case 'audio':
        this.#law.decode(this.#payload, frame)
        this.#plc.good(frame)
        return frame
      case 'lost':
        this.#plc.conceal(frame)
        return frame
      default:
        return null
    }
  }

  /**
   * Ends the tick: sends what the party hears. `frame` null is silence; `encoded` is the frame in this leg's law when
   * somebody has encoded it already.
   */
  send(frame: Frame | null, encoded: Uint8Array | null, now: number): void {
    const sender = this.#sender
    if (this.#speaks && this.latch.port !== 0) {
      const length = this.#keySender.busy ? this.#sendKey(frame) : this.#sendAudio(frame, encoded)
      if (length > 0) this.#out.sendRtp(this.#sent, length, this.latch.host, this.latch.port)
    } else sender.pause()
    sender.advance(LEG_SAMPLES)
    this.#report(now)
  }

  #sent: Uint8Array = new Uint8Array(0)

  #sendAudio(frame: Frame | null, encoded: Uint8Array | null): number {
    const packet = this.#sender.packet
    if (frame === null) packet.fill(this.#law.silence, RTP_HEADER_BYTES, RTP_HEADER_BYTES + LEG_SAMPLES)
    else if (encoded !== null) packet.set(encoded, RTP_HEADER_BYTES)
    else {
      this.#law.encode(frame, this.#payload)
      packet.set(this.#payload, RTP_HEADER_BYTES)
    }
    this.#sent = this.#sender.write(this.#media!.payloadType, LEG_SAMPLES)
    return RTP_HEADER_BYTES + LEG_SAMPLES
  }

  /** A key goes out in the place of audio: as an event where agreed (RFC 4733), as a tone where not. */
  #sendKey(frame: Frame | null): number {
    const tone = this.#keySender.tone()
    if (tone !== null) return this.#sendAudio(tone, null)
    const event = this.#keySender.event(this.#sender.timestamp)
    const eventType = this.#media!.telephoneEvent.send
    if (event === null || eventType === null) return this.#sendAudio(frame, null)
    if (!event.send) return this.#sendAudio(null, null)
    this.#sender.packet.set(event.payload, RTP_HEADER_BYTES)
    this.#sent = this.#sender.write(eventType, event.payload.length, event.timestamp, event.marker)
    return RTP_HEADER_BYTES + event.payload.length
  }

  /** Queues a key to be sent; false when it is none, too many wait, or the far end takes none this way. */
  sendKey(key: string, durationMs?: number): boolean {
    if (this.#media?.dtmf === 'info') return this.#signal(key, durationMs)
    if (this.#media?.dtmf === 'rfc4733' && this.#media.telephoneEvent.send === null) return false
    return this.#keySender.enqueue(key, this.#media?.telephoneEvent.send === null ? 'tone' : 'event', durationMs)
  }

  #signal(key: string, durationMs = KEY_MS): boolean {
    if (!isKey(key)) return false
    this.#sendInfo(key, durationMs)
    return true
  }

  override goodbye(now: number): void {
    const { remote } = this.#media ?? {}
    if (remote === undefined || UNSPECIFIED.includes(remote.host)) return
    this.#sendReport(remote, this.#reports.goodbye(now))
  }

  #report(now: number): void {
    const media = this.#media
    if (media === null) return
    const length = this.#reports.due(now)
    if (length === 0) return
    // "c=0.0.0.0" is how an old phone asks to be left alone (RFC 3264 §8.4).
    if (UNSPECIFIED.includes(media.remote.host)) return
    this.#sendReport(media.remote, length)
  }

  #sendReport({ rtcpMux, rtcpHost, rtcpPort, isRtcpReachable }: LegMedia['remote'], length: number): void {
    const { host, port } = this.latch
    if (rtcpMux && port !== 0) this.#out.sendRtp(this.#reports.packet, length, host, port)
    else if (!rtcpMux && isRtcpReachable) this.#out.sendRtcp(this.#reports.packet, length, rtcpHost, rtcpPort)
    // Behind a NAT it is beside the audio, if anywhere (RFC 3550 §11).
    else if (!rtcpMux && port !== 0) this.#out.sendRtcp(this.#reports.packet, length, host, port + 1)
  }
}
