import { int16Array, uint8Array } from '../../codecs/arrays.ts'
import { FRAME_MS, type Frame, NARROWBAND_HZ, samplesPerFrame, WIDEBAND_HZ } from '../../codecs/audio.ts'
import { BandJoiner, BandSplitter, SPLITTER_DELAY } from '../../codecs/bands.ts'
import type { LawName } from '../../codecs/g711.ts'
import { lateStart } from '../../codecs/late-start.ts'
import { G722Packets } from '../../codecs/packets/g722-packets.ts'
import { LinearPackets } from '../../codecs/packets/linear-packets.ts'
import { MAX_FRAME_BYTES, type PacketCodec } from '../../codecs/packets/packet-codec.ts'
import { PLAYED_FRAMES, type PlayedFrames, Plc } from '../../codecs/plc.ts'
import type { CodecName } from '../protocol.ts'
import { LEG_SAMPLES, SILENCE } from '../rooms/leg.ts'
import { JitterBuffer } from '../rtp/jitter.ts'
import { Packetizer, type RtpPacket, type RtpSender } from '../rtp/rtp.ts'
import { STRAGGLER_MS, type StreamListener } from './law-audio.ts'
import type { LegMedia } from './leg-media.ts'
import { PacketEar } from './packet-ear.ts'
import { type FrameKind, type FrameMaker, Playout } from './playout.ts'
import { LOST_TICKET, NO_TICKET, TicketedPackets } from './ticketed-packets.ts'
import type { WireAudio } from './wire-audio.ts'

/**
 * A sender that leaves out packets sends one in 20 meanwhile (Opus, RFC 7587 §3.1.3), at the most of 60 ms each. After a longer pause nothing more
 * comes [ticks].
 */
const MOST_RESTED_TICKS = 75

/** What codes each of them. Opus is opened with its leg (`LegCodecs.useOpus`), because it loads a module. */
export const PACKET_CODECS: Record<Exclude<CodecName, LawName | 'opus'>, () => PacketCodec> = {
  G722: () => new G722Packets(),
  'L16/16000': () => new LinearPackets(WIDEBAND_HZ),
  'L16/8000': () => new LinearPackets(NARROWBAND_HZ),
}

/** A codec whose packets are decoded whole: G.722, Opus, linear. It needs its own buffer, because tickets cannot be transcoded. */
export class PacketAudio implements WireAudio, FrameMaker {
  readonly codec: CodecName
  readonly clockRateHz: number
  readonly frameUnits: number
  readonly jitter = new JitterBuffer({
    frameBytes: LEG_SAMPLES,
    frameMs: FRAME_MS,
    silenceByte: NO_TICKET,
    holeByte: LOST_TICKET,
  })
  readonly #coder: PacketCodec
  readonly #packets: TicketedPackets
  readonly #packetizer: Packetizer
  readonly #playout: Playout
  readonly #plc: Plc
  upper: Frame | null = null
  /** Null: its samples have 8 kHz. */
  readonly #wide: Wide | null
  readonly #payload = uint8Array(MAX_FRAME_BYTES)
  #receivePayloadTypes: readonly number[] = []
  /** The previous payload types, accepted for a while. */
  #formerPayloadTypes: readonly number[] = []
  #stragglersUntil = Number.NEGATIVE_INFINITY
  /** How long the codec's own comfort noise has been played since the last frame [ticks]. */
  #rested = MOST_RESTED_TICKS
  /** The next frame continues what another codec has sent. */
  #follows = false
  /** Its stream ends, and another codec continues it. */
  #isEnding = false
  readonly #listener: StreamListener | null
  /** Null: the network is calm, and the listener hears what is played. */
  #ear: PacketEar | null = null

  /** @param coder owned by the caller, who closes it @param listener hears the packets of a disturbed network; null: nobody */
  constructor(sender: RtpSender, codec: CodecName, coder: PacketCodec, listener: StreamListener | null = null) {
    this.codec = codec
    this.#listener = listener
    this.clockRateHz = coder.clockRateHz
    this.frameUnits = samplesPerFrame(coder.clockRateHz)
    this.#coder = coder
    this.#packets = new TicketedPackets(coder)
    this.#packetizer = new Packetizer(sender, coder.frameBytes ?? undefined, this.frameUnits)
    const samples = samplesPerFrame(coder.sampleRateHz)
    this.#playout = new Playout(this.jitter, this, samples)
    this.#plc = new Plc(samples)
    this.#wide = samples === LEG_SAMPLES ? null : new Wide(samples)
  }

  get isWide(): boolean {
    return this.#wide !== null
  }

  get leadIn(): number {
    return (this.#coder.leadIn ?? 0) + (this.isWide ? 2 * SPLITTER_DELAY : 0)
  }

  get refused(): number {
    return this.#packets.refused
  }

  get waiting(): number {
    const { waiting } = this.#playout
    return this.isWide ? waiting / 2 : waiting
  }

  get sent(): Uint8Array {
    return this.#packetizer.sent
  }

  get isFull(): boolean {
    return this.#packetizer.isFull
  }

  agree(media: LegMedia, now: number, follows = false): boolean {
    if (media.codec !== this.codec) return false
    this.#follows = follows
    const isFrameAPacket = this.#coder.frameBytes === null
    this.#packetizer.agree(media.payloadType, isFrameAPacket ? FRAME_MS : (media.ptimeMs ?? FRAME_MS))
    this.#keepPayloadTypes(media, now)
    return true
  }

  /** Packets with the payload types of before are on their way, unless those mean something else now. */
  #keepPayloadTypes({ receivePayloadTypes, telephoneEvent, comfortNoise }: LegMedia, now: number): void {
    const before = this.#receivePayloadTypes
    this.#receivePayloadTypes = receivePayloadTypes
    if (before.every(type => receivePayloadTypes.includes(type))) return
    this.#formerPayloadTypes = before.filter(type => type !== telephoneEvent.receive && type !== comfortNoise)
    this.#stragglersUntil = now + STRAGGLER_MS
  }

  carries(payloadType: number, now: number): boolean {
    if (this.#receivePayloadTypes.includes(payloadType)) return true
    return now < this.#stragglersUntil && this.#formerPayloadTypes.includes(payloadType)
  }

  timestampOf(timestamp: number): number {
    return this.#packets.timestampOf(timestamp)
  }

  get isHeardOnWire(): boolean {
    return this.#ear !== null
  }

  hearWire(madeUp: number, now: number): void {
    if (this.#ear?.isEnding === false) this.#ear.disturbed(now)
    else if (this.#listener !== null && !this.#isEnding) this.#beginEar(this.#listener, madeUp, now)
  }

  #beginEar(listener: StreamListener, madeUp: number, now: number): void {
    const coder = this.#coder.fork?.()
    if (coder === undefined) return
    const { playedTimestamp } = this.jitter
    const heard = this.#ear?.timestamp ?? playedTimestamp
    const from = ((heard - playedTimestamp) | 0) > 0 ? heard : playedTimestamp
    const ear = new PacketEar(coder, listener, from, this.#playout.before(Math.min(madeUp, PLAYED_FRAMES)), now)
    this.#ear = ear
    this.jitter.eachWaiting((sequence, timestamp, length, ticket) =>
      ear.push(sequence, timestamp, length, this.#packets.packet(ticket), now),
    )
  }

  settle(now: number): void {
    this.#ear?.settle(now)
  }

  push(packet: RtpPacket, timestamp: number, bytes: Uint8Array, now: number): void {
    const { sequence, payloadOffset, payloadLength, marker } = packet
    if (this.#ear !== null) this.#hear(this.#ear, packet, timestamp, bytes, now)
    this.#packets.push(this.jitter, sequence, timestamp, bytes, payloadOffset, payloadLength, now, marker)
  }

  #hear(ear: PacketEar, packet: RtpPacket, timestamp: number, bytes: Uint8Array, now: number): void {
    const { sequence, payloadOffset, payloadLength } = packet
    const length = this.#coder.lengthOf(bytes, payloadOffset, payloadLength)
    if (length === 0 || payloadLength > this.#coder.maxPacketBytes) return
    ear.push(sequence, timestamp, length, bytes.subarray(payloadOffset, payloadOffset + payloadLength), now)
  }

  skip(sequence: number): void {
    this.jitter.skip(sequence)
  }

  pull(now: number, isUpperWanted: boolean): Frame | null {
    const frame = this.#playout.pull(now)
    if (this.#ear?.isEnding === true && ((this.jitter.playedTimestamp - this.#ear.timestamp) | 0) >= 0) this.#ear = null
    this.upper = null
    if (frame === null) return null
    this.#rested = 0
    return this.#wide === null ? frame : this.#split(this.#wide, frame, isUpperWanted)
  }

  rest(isUpperWanted: boolean): Frame | null {
    const wide = this.#wide
    if (wide === null || this.#coder.rest === undefined || this.#rested === MOST_RESTED_TICKS) return null
    this.#rested++
    return this.#coder.rest(wide.frame) === 0 ? null : this.#split(wide, wide.frame, isUpperWanted)
  }

  #split({ splitter, low, upper }: Wide, frame: Frame, isUpperWanted: boolean): Frame {
    if (isUpperWanted) this.upper = upper
    splitter.split(frame, low, this.upper)
    return low
  }

  make(kind: FrameKind, tickets: Uint8Array, played: PlayedFrames, more: Int16Array): number {
    const plc = this.#plc
    const frame = played.frames[played.at]!
    const isLost = kind === 'lost'
    // A codec that conceals by itself may fall silent or make noise, and nothing could be joined to that.
    const how = isLost && this.#isEnding ? 'lost' : this.#packets.play(isLost ? 'lost' : 'audio', tickets, frame)
    if (how === 'recovered' || how === 'rest') this.jitter.recover(how === 'recovered' ? 1 : 0)
    if (how === 'lost') {
      if (isLost) plc.conceal(played)
      else plc.mend(played, this.jitter.holes, frame.length / LEG_SAMPLES)
      return 0
    }
    if (!plc.isConcealing) {
      if (kind === 'joint') plc.join(played)
      return 0
    }
    if (kind === 'back') return plc.resume(frame, more)
    plc.good(frame)
    return 0
  }

  add(frame: Frame | null, _encoded: Uint8Array | null, upper: Frame | null): number {
    const wide = this.#wide
    const said = this.#follows ? this.#following(frame ?? SILENCE) : (frame ?? SILENCE)
    if (wide !== null) wide.joiner.join(said, upper, wide.frame)
    const length = this.#coder.encode(wide === null ? said : wide.frame, this.#payload)
    if (length === 0) return 0
    const full = this.#packetizer.put(this.#payload, length)
    return this.#coder.frameBytes === null ? this.#packetizer.flush() : full
  }

  /** The filters and the encoder hold something back, which at the far end would be a hole in the beginning. */
  #following(frame: Frame): Frame {
    this.#follows = false
    const wide = this.#wide
    const delay = (wide === null ? 0 : SPLITTER_DELAY) + (this.#coder.delay ?? 0)
    if (delay === 0) return frame
    const { ahead, begun } = lateStart(frame, delay)
    if (wide !== null) wide.joiner.join(ahead, null, wide.frame)
    this.#coder.prime?.(wide === null ? ahead : wide.frame)
    return begun
  }

  ends(): void {
    this.#isEnding = true
  }

  flush(): number {
    return this.#packetizer.flush()
  }

  drop(): void {
    this.#packetizer.drop()
  }

  reset(): void {
    this.#ear = null
    this.jitter.reset()
    this.#playout.reset()
    this.#packets.reset()
    this.#rested = MOST_RESTED_TICKS
  }
}

/** Converts between samples of 16 kHz and a room's two bands of 8 kHz each. */
class Wide {
  /** The format that is sent. */
  readonly frame: Int16Array
  readonly low: Frame = int16Array(LEG_SAMPLES)
  readonly upper: Frame = int16Array(LEG_SAMPLES)
  readonly splitter = new BandSplitter()
  readonly joiner = new BandJoiner()

  constructor(samples: number) {
    this.frame = int16Array(samples)
  }
}
