import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import type { Past } from '../../codecs/detectors/dtmf-detector.ts'
import { isLaw, LAWS, type LawName } from '../../codecs/g711.ts'
import { copy } from '../../codecs/kernels/frames.ts'
import type { OpusCodec } from '../../codecs/packets/opus.ts'
import type { Quality } from '../protocol.ts'
import { LEG_SAMPLES, Leg, type LegHooks } from '../rooms/leg.ts'
import { Continuity, type HeldPacket } from '../rtp/continuity.ts'
import { type DtmfPacket, END_PACKETS } from '../rtp/dtmf-events.ts'
import { isKey, KEY_MS } from '../rtp/key-sender.ts'
import { SourceLatch } from '../rtp/latch.ts'
import { PacketHeaders, type PacketLog } from '../rtp/packet-headers.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import type { ReceptionStats } from '../rtp/reception-stats.ts'
import { isRtcp, parseRtp, RTP_HEADER_BYTES, RtpPacket, RtpSender, type StreamStart } from '../rtp/rtp.ts'
import type { DtlsIdentity } from '../webrtc/dtls-wire.ts'
import { AwaitedMix, type Speaker } from './awaited-mix.ts'
import { FaxWay } from './fax-way.ts'
import { FormerAudio } from './former-audio.ts'
import type { StreamListener } from './law-audio.ts'
import { LegCodecs } from './leg-codecs.ts'
import { LegEncryption } from './leg-encryption.ts'
import { LegKeys } from './leg-keys.ts'
import type { LegMedia } from './leg-media.ts'
import { LegPresence } from './leg-presence.ts'
import type { HeardFrames } from './leg-quality.ts'
import { LegReports } from './leg-reports.ts'
import { LegRtcp } from './leg-rtcp.ts'
import { LegSilence } from './leg-silence.ts'
import { PacketRelay, type PacketTaker } from './packet-relay.ts'
import { RestartedStream } from './restarted-stream.ts'
import type { WireAudio } from './wire-audio.ts'

/** Interval of checks that are not needed for every packet [ms]. */
const CHECK_MS = 200

const LEG_CLOCK_HZ = 8000
/** After this time without a packet, the relay counts as paused, and the mix fills in [ms]. */
const PAUSE_MS = 200
/** The packet that is being handled: all legs share it, which therefore stays in the cache. */
const received = new RtpPacket()

/** A party on RTP: its codec, jitter buffer, address latch and keys end here. Pure: packets and the time are arguments. */
export class RtpLeg extends Leg implements PacketTaker, StreamListener {
  // What each packet and each tick asks for comes first: see `Leg`.

  /** What codes its audio; null: nothing is agreed on. */
  #audio: WireAudio | null = null
  /** Audio of the previous codec that is still heard; null: none. */
  #former: FormerAudio | null = null
  law: LawName | null = null
  #media: LegMedia | null = null
  /** Payload types of its telephone events and its comfort noise; -1: none. Here, because each packet asks for them. */
  #eventType = -1
  /** Payload type of the key that is being sent. */
  #keyType = -1
  #noiseType = -1
  /** The fax that replaces the audio; null: none. */
  #fax: FaxWay | null = null
  readonly #encryption: LegEncryption
  readonly latch = new SourceLatch()
  #sourceSsrc = -1
  /** Somebody had our SSRC, and we have taken another one. */
  #hasYielded = false
  readonly #presence = new LegPresence()
  /** Captures packet headers; null: not requested. */
  #headers: PacketHeaders | null = null
  readonly #continuity = new Continuity()
  readonly #stats: ReceptionStats
  /** Transit of the fastest packet since the last check; null: none arrived. */
  #leastTransit: number | null = null
  /** Null: it has never described its silence, as few do. */
  #silence: LegSilence | null = null
  /** The relay of received packets; null: they are played into the mix. */
  #relay: PacketRelay | null = null
  #checkAt = Number.NEGATIVE_INFINITY
  /** When the next report by RTCP is due, as its owner says [ms]. */
  #reportAt = Number.NEGATIVE_INFINITY
  readonly #keys = new LegKeys()
  #listens = false
  override takesAudio = false
  readonly #frames: HeardFrames
  /** The last frame was the codec's own comfort noise. */
  #isResting = false
  /** For the tick. */
  #now = Number.NaN
  /** The transition from relayed packets back to the mix; null: none is in progress. */
  override awaited: AwaitedMix | null = null
  readonly #sender: RtpSender

  /** Packets that were not RTP, or had an unknown payload type. */
  #refused = 0
  readonly #hooks: LegHooks
  readonly #plain: PacketOut
  readonly #sendInfo: (key: string, durationMs: number) => void
  readonly #random: () => number
  readonly #restarted: RestartedStream
  readonly #codecs: LegCodecs
  readonly #reports: LegReports
  readonly #rtcp: LegRtcp

  /**
   * @param random 32 random bits, called a few times for each stream that is sent (RFC 3550 §5.1)
   * @param sendInfo sends a key by signalling (SIP INFO)
   * @param identity null: there is no DTLS
   */
  constructor(
    id: string,
    out: PacketOut,
    hooks: LegHooks,
    random: () => number,
    sendInfo: (key: string, durationMs: number) => void,
    identity: DtlsIdentity | null = null,
  ) {
    super(id, hooks)
    this.#encryption = new LegEncryption(out, identity, this.latch)
    this.#plain = out
    this.#sendInfo = sendInfo
    this.#hooks = hooks
    this.#random = random
    this.#sender = new RtpSender({ ...this.#newStream(), maxPayload: LEG_SAMPLES })
    this.#reports = new LegReports(this.#sender, random)
    this.#stats = this.#reports.stats
    this.#frames = this.#reports.heard.frames
    this.#restarted = new RestartedStream(this.#continuity, this.#stats)
    this.#rtcp = new LegRtcp(this.#reports, this.#encryption, this.latch, (...report) =>
      hooks.report?.(this, ...report),
    )
    this.#codecs = new LegCodecs(this.#sender, this)
  }

  /** Makes Opus available to `connect`. */
  useOpus(codec: OpusCodec): void {
    this.#codecs.useOpus(codec)
  }

  get hasOpus(): boolean {
    return this.#codecs.hasOpus
  }

  // ------------------------------------------------------------------ agreed on

  /**
   * A description was agreed on: the first one starts the audio, later ones change it (hold, other codec or address). `isEarly`: the
   * call is unanswered, so audio may or may not arrive.
   */
  connect(media: LegMedia, now: number, isEarly = false): void {
    const wasRelayed = this.#relay !== null
    this.#stopPassing()
    this.leaveFax()
    this.#fax = null
    this.#media = media
    this.#eventType = media.telephoneEvent.receive ?? -1
    this.#noiseType = media.comfortNoise ?? -1
    if (media.telephoneEvent.send === null) this.#keys.useTones()
    const listened = this.#listens
    this.#listens = media.direction === 'sendrecv' || media.direction === 'recvonly'
    if (!listened && this.#listens) this.#audio?.jitter.resume()
    this.takesAudio = media.direction === 'sendrecv' || media.direction === 'sendonly'
    this.#presence.agree(media.direction, isEarly, now)
    this.tones.agree(media.dtmf, media.telephoneEvent.receive !== null)
    if (media.dtls === null || media.dtls.ice === null) this.latch.describe(media.remote)
    this.#encryption.agree(media, now)
    this.#code(media, now, wasRelayed)
  }

  /** Whether T.38 may replace its audio. */
  get mayFax(): boolean {
    return this.#encryption.srtp === null && this.#encryption.dtls === null && this.#media !== null
  }

  /** Receives T.38 from now on, relayed to the other half; repeating it updates the description. */
  faxes(now: number): FaxWay {
    const audio = this.#audio
    if (this.#fax === null && audio !== null) this.#sendPacket(audio, audio.flush())
    if (this.#fax === null) {
      this.#fax = new FaxWay(this.#plain, now)
      this.follow(null)
    }
    return this.#fax
  }

  /** Stops the relay to the other half; there is no audio until it is connected again. Idempotent. */
  leaveFax(): void {
    this.#fax?.part()
  }

  /** Sets the first or another codec. The content of a partial packet is sent in its old codec. */
  #code(media: LegMedia, now: number, wasRelayed: boolean): void {
    const before = this.#audio
    if (before !== null) this.#sendPacket(before, before.flush())
    const isSame = before?.agree(media, now) === true
    const audio = isSame ? null : this.#codecs.next(media)
    if (isSame || audio !== null) this.law = isLaw(media.codec) ? media.codec : null
    if (audio === null) return
    const cut = this.#keys.clockAt(audio.clockRateHz)
    // In the stream in which it began.
    for (let times = cut === null ? 0 : END_PACKETS; times > 0; times--) this.#sendEvent(cut!)
    if (before !== null && audio.clockRateHz !== before.clockRateHz) this.#changeSource(media, now)
    audio.agree(media, now, before !== null)
    if (this.isLeftAlone) audio.leaveAlone?.()
    // What comes of the codec before is heard until the end.
    this.#former = before === null ? null : new FormerAudio(before, now, wasRelayed)
    this.#audio = audio
    this.#reports.heard.use(audio.jitter)
    this.#reports.clockRateHz = audio.clockRateHz
    this.isWide = audio.isWide
  }

  /** Each clock rate has an SSRC of its own (RFC 7160 §4.1), and no two parties have one (RFC 3550 §8.2). By WebRTC descriptions name it, and it stays. */
  #changeSource(media: LegMedia, now: number): void {
    if (media.dtls !== null && media.dtls.ice !== null) return
    this.#reports.streamEnds(now)
    this.#reportAt = this.#reports.dueAt
    this.#sender.begin(this.#newStream())
  }

  #newStream(): StreamStart {
    return {
      ssrc: this.#random(),
      // In the lower half, so that a receiver that misses the first packets knows the roll-over count (RFC 3711 §3.3.1).
      sequence: this.#random() & 0x7fff,
      timestamp: this.#random(),
    }
  }

  /** Whether encrypted audio has just arrived, and can be returned. */
  isFlowing(now: number): boolean {
    const hasSource = this.#encryption.srtp !== null && this.latch.port !== 0 && this.#sourceSsrc !== -1
    return hasSource && this.#presence.isFlowing(now)
  }

  /** Our SSRC (RFC 3550 §3), for descriptions that name it. */
  get ssrc(): number {
    return this.#sender.ssrc
  }

  override get spareMs(): number | null {
    return this.#audio?.jitter.spareMs ?? null
  }

  override get enoughMs(): number {
    return this.#audio?.jitter.enoughMs ?? 0
  }

  get packetsRefused(): number {
    const ofFax = this.#fax?.refused ?? 0
    return (
      ofFax +
      this.#refused +
      this.#rtcp.refused +
      this.#continuity.dropped +
      (this.#audio?.refused ?? 0) +
      this.latch.refused +
      (this.#encryption.dtls?.refused ?? 0)
    )
  }

  get quality(): Quality {
    return this.#reports.quality(this.#audio?.codec ?? null)
  }

  // ------------------------------------------------------------------ received

  /** A fax is passed on as it comes. */
  override follow(slot: number | null): void {
    this.#plain.follow?.(this.#fax === null ? slot : null)
  }

  /** A datagram on the RTP port. */
  rtp(datagram: Uint8Array, host: string, port: number, now: number): void {
    let audio = this.#audio
    if (this.#media === null || audio === null) return
    if (this.#fax !== null) {
      this.#fax.receive(datagram, host, port, now)
      return
    }
    const { srtp, dtls, hasIce } = this.#encryption
    if (dtls !== null && !dtls.isPacket(datagram, host, port, now)) {
      this.#encryption.follow(now)
      return
    }
    if (isRtcp(datagram)) {
      this.rtcp(datagram, host, port, now)
      return
    }
    const bytes = srtp === null ? datagram : srtp.openRtp(datagram)
    if (bytes === null || !parseRtp(bytes, received)) {
      this.#refused++
      return
    }
    const isEvent = received.payloadType === this.#eventType
    if (this.#former !== null) audio = this.#former.of(received.payloadType, audio, now)
    const isAudio = audio.carries(received.payloadType, now)
    // Comfort noise is a sign of life. Its static type is accepted even if not negotiated, because it is unambiguous.
    const isNoise = received.payloadType === 13 || received.payloadType === this.#noiseType
    if (
      (!isAudio && !isEvent && !isNoise) ||
      (!hasIce &&
        !this.#isFromSource(host, port, now) &&
        !this.latch.accept(host, port, received.ssrc, received.sequence, now))
    ) {
      this.#refused++
      return
    }
    const presence = this.#presence
    presence.lastPacketAt = now
    if (this.#headers !== null) this.#headers.note(false, bytes, datagram.length, host, port, now)
    if (received.ssrc !== this.#sourceSsrc) this.#newSource(audio, received.ssrc, now)
    if (!isAudio) this.#continuity.skip(received.sequence, now)
    else if (!this.#isNext() && !this.#isInStream(audio, bytes, now)) return
    this.#take(audio, isAudio, isEvent, bytes, now)
  }

  /** Whether a packet of audio is the one after the last, as nearly all are. */
  #isNext(): boolean {
    const { sequence, timestamp } = received
    const stream = this.#continuity
    if (sequence !== stream.nextSequence || (timestamp | 0) !== stream.nextTimestamp) return false
    stream.nextSequence = (sequence + 1) & 0xffff
    stream.nextTimestamp = (timestamp + stream.step) | 0
    return true
  }

  /** Whether another one can be taken, or waits for the next one. */
  #isInStream(audio: WireAudio, bytes: Uint8Array, now: number): boolean {
    return this.#restarted.take(received, bytes, audio, now, held => this.#takeHeld(held, audio, bytes))
  }

  /** @param bytes of the packet that is being handled, which follows it */
  #takeHeld(held: HeldPacket, audio: WireAudio, bytes: Uint8Array): void {
    parseRtp(held.bytes, received)
    this.#take(audio, true, false, held.bytes, held.at)
    parseRtp(bytes, received)
  }

  /** Takes a packet of the stream. */
  #take(audio: WireAudio, isAudio: boolean, isEvent: boolean, bytes: Uint8Array, now: number): void {
    const presence = this.#presence
    const continuity = this.#continuity
    const { sequence } = received
    if (continuity.sequenceShift !== 0) received.sequence = (sequence + continuity.sequenceShift) & 0xffff
    if (continuity.timestampShift !== 0) {
      received.timestamp = (received.timestamp + continuity.timestampShift) >>> 0
    }
    const timestamp = audio.timestampOf(received.timestamp)
    // Reports name the numbers of the wire.
    const isCounted = this.#stats.receive(received.ssrc, sequence, timestamp, now)
    if (isAudio) {
      if (received.marker) presence.begins(now)
      else presence.heardAt = now
      const { transit } = this.#stats
      const isFaster = this.#leastTransit === null || ((transit - this.#leastTransit) | 0) < 0
      if (isFaster && isCounted) this.#faster(transit, timestamp, now)
      if (this.#silence?.isOn === true) this.#silence.spoke(received.sequence)
      if (this.#relay === null || !this.#passOn(this.#relay, audio, bytes, now))
        audio.push(received, timestamp, bytes, now)
      return
    }
    audio.skip(received.sequence)
    if (isEvent) {
      presence.heardAt = now
      this.#readKey(audio, bytes, timestamp, now)
    } else {
      presence.fellSilent(now)
      this.#stopPassing()
      this.#silence ??= new LegSilence()
      this.#silence.begin(received, bytes)
    }
  }

  /** From where nearly every packet comes: there is nothing to judge. */
  #isFromSource(host: string, port: number, now: number): boolean {
    const { latch } = this
    if (host !== latch.source || port !== latch.port || received.ssrc !== this.#sourceSsrc) return false
    latch.heardAt = now
    return true
  }

  /** The fastest packet since the last check: it shows the sender's clock. */
  #faster(transit: number, timestamp: number, now: number): void {
    this.#leastTransit = transit
    this.#keys.observe(timestamp, now)
  }

  /** @param pressed its timestamp in units of 8 kHz */
  #readKey(audio: WireAudio, bytes: Uint8Array, pressed: number, now: number): void {
    const keys = this.#keys
    const written = (received.timestamp - this.#continuity.timestampShift) >>> 0
    const began = keys.read(received, written, bytes, now)
    if (began !== null && this.tones.tell(began, 'rfc4733', now)) {
      this.#hooks.key(this, began, 'rfc4733', keys.sentAt(pressed, now))
    }
    // Until the audio that came with it has been played.
    this.keyDown(keys.downUntil(now) + audio.jitter.currentDelayMs)
  }

  get hearsStream(): boolean {
    return this.faxDetected === null || this.isListening
  }

  hearStream(frame: Frame, past: Past, now: number): boolean {
    const isFax = this.hearFax(frame)
    if (!this.isListening) return isFax
    // Until it has been played, too.
    return this.hearTones(frame, past, now, FRAME_MS + this.#audio!.jitter.currentDelayMs) || isFax
  }

  hearHole(before: Frame, after: Frame, samples: number): void {
    if (this.isListening) this.tones.bridge(before, after, samples)
  }

  hearFrame(frame: Frame, now: number): void {
    if (this.isListening) this.hearTones(frame, undefined, now, FRAME_MS + this.#audio!.jitter.currentDelayMs)
  }

  get mayHearTone(): boolean {
    return !this.tones.isIdle
  }

  /** A datagram on the RTCP port. */
  rtcp(datagram: Uint8Array, host: string, port: number, now: number): void {
    if (this.#media === null) return
    const told = this.#rtcp.receive(datagram, { host, port }, this.#media, this.#sourceSsrc, now)
    const { measuredMs } = this.#reports
    if (told !== null && measuredMs !== null) this.#keys.travels(measuredMs)
    if (told === 'left') this.#sourceLeft()
    else if (told === 'report') this.#presence.lastPacketAt = now
  }

  /** Captures packet headers for this long from now; 0: stop. */
  traceHeaders(seconds: number, now: number, wall: number): void {
    if (seconds === 0) this.#headers?.stop()
    else this.#headers = new PacketHeaders(seconds, now, wall)
  }

  /** The captured headers; null: not requested. */
  get headers(): PacketLog | null {
    return this.#headers?.log() ?? null
  }

  /** The source said goodbye (RFC 3550 §6.6): its audio is neither missing nor lost, and another source may follow. SIP ends the call. */
  #sourceLeft(): void {
    this.#audio?.jitter.over()
    this.#presence.left()
    this.latch.leave()
  }

  #newSource(audio: WireAudio, ssrc: number, now: number): void {
    if (ssrc === this.#sender.ssrc && !this.#hasYielded) {
      // Only once: what comes under the new one, too, is our own audio, sent back.
      this.#hasYielded = true
      this.#changeSource(this.#media!, now)
    }
    if (this.#sourceSsrc !== -1) {
      // Its sequence numbers are unrelated to those of the stream before, and may be lower.
      this.#stopPassing()
      // What another codec begins with is joined to that of before.
      if (this.#former === null || audio === this.#former.audio || !this.#former.isFirst) {
        this.jumps()
        audio.reset()
      }
      this.#silence?.end()
      this.#keys.reset()
      this.tones.reset()
    }
    this.#continuity.reset()
    this.#reports.heard.newSource()
    this.#leastTransit = null
    this.#sourceSsrc = ssrc
  }

  // ------------------------------------------------------------------ relayed to the only other party, packet by packet, and from it

  override mayPassTo(other: Leg, now: number): boolean {
    if (!(other instanceof RtpLeg) || !other.takesPackets(this.law)) return false
    return (
      this.#listens && this.#former === null && this.#silence?.isOn !== true && this.#presence.flowsSince(PAUSE_MS, now)
    )
  }

  override passTo(other: Leg, isOpen: () => boolean, now: number): boolean {
    const audio = this.#audio
    if (audio === null || !(other instanceof RtpLeg)) return false
    const { lastPacketAt } = this.#presence
    let soonerMs = now - lastPacketAt
    const handOver = (octets: Uint8Array): void => {
      other.#takeOver(octets)
      soonerMs += octets.length / (LEG_CLOCK_HZ / 1000)
    }
    if (audio.handOver?.(handOver) !== true) return false
    const { nextSequence, nextTimestamp } = audio.jitter
    audio.passes!()
    this.#relay = new PacketRelay(other, isOpen, nextSequence, nextTimestamp, lastPacketAt, soonerMs)
    return this.passed(now)
  }

  override passed(now: number): boolean {
    if (now >= this.#checkAt) this.#check(now)
    if (this.#keys.isDown) this.#keys.advance(now)
    this.#audio?.jitter.pass(now)
    this.#now = now
    if (now >= this.#reportAt) this.#report(now)
    return this.#relay !== null && this.#presence.flowsSince(PAUSE_MS, now)
  }

  /** @returns false: neither it nor what follows is relayed */
  #passOn(relay: PacketRelay, audio: WireAudio, bytes: Uint8Array, now: number): boolean {
    const { to } = relay
    const isOpen = received.payloadLength === LEG_SAMPLES && to.takesPackets(this.law) && relay.isOpen()
    const place = isOpen ? relay.place(received.sequence, received.timestamp, LEG_SAMPLES) : 'astray'
    if (place === 'astray') {
      this.#stopPassing()
      return false
    }
    if (place !== 'here') {
      audio.jitter.counters[place === 'again' ? 'duplicate' : 'late']++
      return true
    }
    relay.at = now
    audio.hear!(received, received.timestamp, bytes, now)
    this.#frames.passed(relay.ahead)
    to.takePacket(bytes, received.payloadOffset, relay.ahead, relay.samples, received.marker)
    return true
  }

  /** Idempotent. */
  #stopPassing(): void {
    const relay = this.#relay
    relay?.to.takesMix(this, relay.at + relay.soonerMs)
    this.#relay = null
  }

  override endPassing(): Frame | null {
    const relay = this.#relay
    this.#relay = null
    return relay === null ? null : relay.end(this.#now)
  }

  get taken(): Frame {
    const frame = new Int16Array(LEG_SAMPLES)
    LAWS[this.law ?? 'PCMU'].decode(this.#sender.last.subarray(RTP_HEADER_BYTES), frame)
    return frame
  }

  takesPackets(law: LawName | null): boolean {
    if (law === null || law !== this.law || !this.takesAudio || this.latch.port === 0 || this.#fax !== null)
      return false
    return !this.#keys.isSending && this.#sender.packet.length === RTP_HEADER_BYTES + LEG_SAMPLES
  }

  takePacket(bytes: Uint8Array, offset: number, ahead: number, samples: number, marker: boolean): void {
    const { packet } = this.#sender
    // The usual case: the packet is copied whole, and its header overwritten.
    if (offset === RTP_HEADER_BYTES && bytes.length === packet.length) copy(packet, bytes)
    else packet.set(bytes.subarray(offset, offset + LEG_SAMPLES), RTP_HEADER_BYTES)
    this.#sendOut(this.#sender.writeOn(this.#media!.payloadType, LEG_SAMPLES, ahead, samples, marker), packet.length)
  }

  takesMix(from: Speaker, relayedUntil: number): void {
    this.awaited = new AwaitedMix(this.#sender, from, relayedUntil)
  }

  /** Audio for the next ticks is sent before the relay takes over. */
  #takeOver(octets: Uint8Array): void {
    const { packet } = this.#sender
    packet.set(octets, RTP_HEADER_BYTES)
    this.#sender.write(this.#media!.payloadType, octets.length)
    this.#sender.advance(octets.length)
    this.#sendOut(packet, RTP_HEADER_BYTES + octets.length)
  }

  // ------------------------------------------------------------------ heard, once per tick

  protected receive(now: number): Frame | null {
    if (now >= this.#checkAt) this.#check(now)
    if (this.#fax !== null) return null
    if (this.#keys.isDown) this.#keys.advance(now)
    this.#stopPassing()
    let audio = this.#audio
    if (!this.#listens || audio === null) return null
    const former = this.#former
    const frame = former === null ? audio.pull(now, this.isUpperWanted) : former.pull(audio, now, this.isUpperWanted)
    if (former?.isOver === true) this.#former = null
    else if (former !== null) audio = former.audio
    this.upper = former === null ? audio.upper : former.upper
    const frames = this.#frames
    const { jitter } = audio
    const { concealed } = jitter
    // As nearly every frame is.
    if (frame !== null && frames.run === 0 && frames.counted === concealed) frames.played++
    else this.#disturbed(audio, frame, now)
    if (frame !== null && !audio.isHeardOnWire && this.isListening) this.hearTones(frame, undefined, now, 1)
    if (this.#silence?.isOn === true) return this.#silence.hear(frame)
    this.#isResting = false
    return frame === null && audio.rest !== undefined ? this.#rest(audio.rest(this.isUpperWanted), audio) : frame
  }

  /** Something is missing, or was concealed. */
  #disturbed(audio: WireAudio, frame: Frame | null, now: number): void {
    const { concealed, isStarved } = audio.jitter
    const frames = this.#frames
    frames.note(frame !== null && !isStarved, concealed)
    if (frames.run > (this.mayHearTone ? 0 : 1) && this.isListening) audio.hearWire?.(frames.run, now)
  }

  #rest(noise: Frame | null, { upper }: WireAudio): Frame | null {
    this.#isResting = noise !== null
    this.upper = upper
    return noise
  }

  override get isComfort(): boolean {
    return this.#silence?.isOn === true ? this.#silence.isHeard : this.#isResting
  }

  override get isMissing(): boolean {
    return this.raw === null && this.#listens && this.#fax === null && this.#audio?.jitter.isMissing === true
  }

  override playedUntil(now: number): number {
    const audio = this.#former?.audio ?? this.#audio
    if (audio === null) return now
    return this.#keys.sentNoEarlier(audio.jitter.playedTimestamp, now) - audio.waiting / (LEG_CLOCK_HZ / 1000)
  }

  /** Its far end has answered by SIP. */
  isThere(now: number): void {
    this.#presence.isThere(now)
  }

  /** Nobody acknowledges what its far end is told by SIP; false: now it does. By DTLS a far end has to prove itself anyway. */
  withhold(isWithheld: boolean): void {
    if (this.#encryption.dtls === null) this.latch.withhold(isWithheld)
  }

  /** Reports missing audio. */
  #check(now: number): void {
    this.#checkAt = now + CHECK_MS
    if (this.#leastTransit !== null) {
      this.#reports.heard.arrived(this.#leastTransit, now)
      this.#continuity.arrived(this.#leastTransit)
    }
    this.#leastTransit = null
    this.#audio?.settle?.(now)
    const isPoor = this.#reports.heard.judge(this.#reports.roundTripMs, now)
    if (isPoor !== null) this.#hooks.quality?.(this, isPoor)
    this.#encryption.follow(now)
    const presence = this.#presence
    if (this.#fax !== null) presence.isElsewhere(this.#fax.lastAt)
    if (this.deaf && presence.isEarlyHeard()) this.#hooks.earlyAudio(this)
    const missing = presence.check(now, this.#encryption.dtls?.checkedAt ?? null)
    if (missing === null) return
    if (missing.isQuiet) this.#hooks.quiet?.(this)
    if (missing.isTimedOut) this.#hooks.timedOut(this)
    if (missing.isOneWay) this.#hooks.oneWay(this)
  }

  // ------------------------------------------------------------------ sent, once per tick

  send(frame: Frame | null, encoded: Uint8Array | null, now: number): void {
    const audio = this.#audio
    if (now - this.#now >= 2 * FRAME_MS) this.#leaveOut(audio, now)
    this.#now = now
    if (this.awaited !== null) {
      if (!this.awaited.isHere(frame, this.#keys.isSending, now)) return
      this.awaited = null
    }
    if (audio !== null && this.takesAudio && this.latch.port !== 0 && this.#fax === null) {
      if (this.#keys.isSending) this.#sendKey(audio, frame)
      else this.#sendPacket(audio, audio.add(frame, encoded, this.hearsUpper))
    } else {
      audio?.drop()
      this.#sender.pause()
    }
    this.#sender.advance(audio === null ? LEG_SAMPLES : audio.frameUnits)
    if (now >= this.#reportAt) this.#report(now)
  }

  #report(now: number): void {
    this.#rtcp.report(this.#media, now)
    this.#reportAt = this.#reports.dueAt
  }

  /** Frames skipped by our clock are also skipped in the timestamps; otherwise the far end would hear us late from then on. */
  #leaveOut(audio: WireAudio | null, now: number): void {
    if (audio !== null) this.#sendPacket(audio, audio.flush())
    const frames = Math.floor((now - this.#now) / FRAME_MS) - 1
    this.#sender.advance(frames * (audio === null ? LEG_SAMPLES : audio.frameUnits))
    this.#sender.pause()
  }

  #sendPacket(audio: WireAudio, length: number): void {
    if (length > 0) this.#sendOut(audio.sent, length)
    // Packets of 10 ms.
    if (audio.isFull) this.#sendPacket(audio, audio.flush())
  }

  #sendOut(packet: Uint8Array, length: number): void {
    const { host, port } = this.latch
    this.#encryption.out.sendRtp(packet, length, host, port)
    if (this.#headers !== null) this.#headers.note(true, packet, length, host, port, this.#now)
  }

  /** A key replaces the audio: as an event if agreed (RFC 4733), otherwise as a tone. */
  #sendKey(audio: WireAudio, frame: Frame | null): void {
    this.tones.sent(this.#now)
    const tone = this.#keys.tone()
    const event = tone === null ? this.#keys.event(this.#sender.timestamp) : null
    if (event === null) this.#sendPacket(audio, audio.add(tone ?? frame, null, null))
    else if (!event.send) this.#sendPacket(audio, audio.add(null, null, null))
    else {
      // The event is not part of the audio in a partial packet.
      this.#sendPacket(audio, audio.flush())
      this.#sendEvent(event)
    }
  }

  /** A key keeps the payload type with which it began: with another it would be a second one. */
  #sendEvent({ payload, timestamp, marker }: DtmfPacket): void {
    if (marker) this.#keyType = this.#media!.telephoneEvent.send!
    this.#sender.packet.set(payload, RTP_HEADER_BYTES)
    const packet = this.#sender.write(this.#keyType, payload.length, timestamp, marker)
    this.#sendOut(packet, RTP_HEADER_BYTES + payload.length)
  }

  /** Queues a key to be sent; false if it is not a key, too many wait, or the far end accepts none this way. */
  sendKey(key: string, durationMs?: number): boolean {
    if (this.#media?.dtmf === 'info') return this.#signal(key, durationMs)
    if (this.#media?.dtmf === 'rfc4733' && this.#media.telephoneEvent.send === null) return false
    const as = this.#media?.telephoneEvent.send === null ? 'tone' : 'event'
    return this.#keys.enqueue(key, as, durationMs)
  }

  #signal(key: string, durationMs = KEY_MS): boolean {
    if (!isKey(key)) return false
    this.#sendInfo(key, durationMs)
    return true
  }

  // ------------------------------------------------------------------ the end

  override leaveAlone(): void {
    super.leaveAlone()
    this.#audio?.leaveAlone?.()
    this.#former?.audio.leaveAlone?.()
  }

  override close(): void {
    // Another leg may now use its arrays, so packets that still arrive, and relays of others, must find nothing here.
    this.#media = null
    this.#audio = this.#former = this.law = null
    this.#codecs.close()
    super.close()
    this.#stopPassing()
    this.leaveFax()
  }

  override goodbye(now: number): void {
    this.#rtcp.goodbye(this.#media, now)
  }
}
