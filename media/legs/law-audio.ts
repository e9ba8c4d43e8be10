import { uint8Array } from '../../codecs/arrays.ts'
import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import { FRAMES_BEFORE, type Past } from '../../codecs/detectors/dtmf-detector.ts'
import { TONAL } from '../../codecs/detectors/tonal.ts'
import { type G711, isLaw, LAWS, type LawName, octetsOf, PCMA, PCMU } from '../../codecs/g711.ts'
import {
  copy,
  correlate,
  correlations,
  FRAME_OUT,
  FRAME_OUT_AT,
  HEAD_BYTES,
  HEADED_IO,
  OCTETS_IO,
} from '../../codecs/kernels/frames.ts'
import { PLAYED_FRAMES, PlayedFrames, Plc } from '../../codecs/plc.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import { EarlyPackets } from '../rtp/early-packets.ts'
import { JitterBuffer } from '../rtp/jitter.ts'
import { recode } from '../rtp/packet-ring.ts'
import { Packetizer, type RtpPacket, type RtpSender } from '../rtp/rtp.ts'
import type { LegMedia } from './leg-media.ts'
import { type FrameKind, type FrameMaker, Playout } from './playout.ts'
import type { WireAudio } from './wire-audio.ts'

/** Transcodes from the other law to this one. */
const OCTETS: Record<LawName, Uint8Array> = { PCMU: octetsOf(PCMA, PCMU), PCMA: octetsOf(PCMU, PCMA) }
/** Packets sent before the far end changed its codec still arrive for this long [ms]. */
export const STRAGGLER_MS = 3000

/** The meaning of a payload type. */
const NOTHING = 0
const THIS_LAW = 1
const OTHER_LAW = 2
/** The other law, accepted for a while. */
const STRAGGLER = 3

/** Working memory for the rest after the last frame, until it has been sent. All legs share it. */
const REST = new Uint8Array(LEG_SAMPLES)

/** Maximum length of a gap that is analysed [samples]: enough to end any key. */
export const MAX_HOLE = 4 * LEG_SAMPLES

/** So much lost at once is more than concealment carries a tone across [samples]. */
export const BRIDGED = 3 * LEG_SAMPLES

/** Looks for tones in a stream, in the order in which it was sent. */
export interface StreamListener {
  readonly hearsStream: boolean
  /**
   * 20 ms of it that may belong to a tone, and what came before; borrowed until the call returns.
   *
   * @returns whether a tone may have begun: then it hears the next frame too, whatever that is
   */
  hearStream(frame: Frame, past: Past, now: number): boolean
  /** Between a frame that it has heard and the next one so much was lost [samples], of which it has heard something made up. */
  hearHole(before: Frame, after: Frame, samples: number): void
  /** 20 ms of a codec that carries no tones of machines. */
  hearFrame(frame: Frame, now: number): void
  /** A tone may have begun. */
  readonly mayHearTone: boolean
}

/** G.711: packets of octets, one sample each. The far end may switch between the laws, by itself or by agreement. */
export class LawAudio implements WireAudio, FrameMaker {
  readonly clockRateHz = 8000
  readonly frameUnits = LEG_SAMPLES
  readonly refused = 0
  readonly isWide = false
  readonly isHeardOnWire = true
  readonly upper = null
  readonly jitter: JitterBuffer
  readonly #packetizer: Packetizer
  readonly #playout: Playout
  readonly #plc = new Plc()
  readonly #listener: StreamListener
  readonly #ear: LawEar
  readonly #meanings = uint8Array(128)
  /** The payload type that nearly every packet has: this law. */
  #usual = -1
  #law: G711
  #receivePayloadTypes: readonly number[] = []
  #stragglersUntil = Number.NEGATIVE_INFINITY
  #isLeftAlone = false

  constructor(sender: RtpSender, codec: LawName, listener: StreamListener) {
    this.#law = LAWS[codec]
    this.#listener = listener
    this.#ear = new LawEar(listener)
    this.#packetizer = new Packetizer(sender)
    this.jitter = new JitterBuffer({ frameBytes: LEG_SAMPLES, frameMs: FRAME_MS, silenceByte: this.#law.silence })
    this.#playout = new Playout(this.jitter, this, LEG_SAMPLES)
  }

  get codec(): LawName {
    return this.#law.name
  }

  /** Decoded samples that wait. */
  get waiting(): number {
    return this.#playout.waiting
  }

  get sent(): Uint8Array {
    return this.#packetizer.sent
  }

  get isFull(): boolean {
    return this.#packetizer.isFull
  }

  /** Transcodes waiting audio, and the last packets of the previous law, to the new one. */
  agree(media: LegMedia, now: number): boolean {
    if (!isLaw(media.codec)) return false
    const law = LAWS[media.codec]
    this.#packetizer.agree(media.payloadType, media.ptimeMs ?? FRAME_MS)
    const meanings = this.#meanings
    if (law !== this.#law) {
      this.jitter.recode(OCTETS[law.name], law.silence)
      this.#ear.recode(OCTETS[law.name])
      this.#law = law
      this.#stragglersUntil = now + STRAGGLER_MS
      meanings.fill(NOTHING)
      for (const type of this.#receivePayloadTypes) meanings[type] = STRAGGLER
    } else for (const [type, meaning] of meanings.entries()) if (meaning !== STRAGGLER) meanings[type] = NOTHING
    for (const type of media.otherPayloadTypes ?? []) meanings[type] = OTHER_LAW
    for (const type of media.receivePayloadTypes) meanings[type] = THIS_LAW
    this.#receivePayloadTypes = media.receivePayloadTypes
    this.#usual = media.receivePayloadTypes[0] ?? -1
    return true
  }

  carries(payloadType: number, now: number): boolean {
    if (payloadType === this.#usual) return true
    const meaning = this.#meanings[payloadType]!
    return meaning !== NOTHING && (meaning !== STRAGGLER || now < this.#stragglersUntil)
  }

  timestampOf(timestamp: number): number {
    return timestamp
  }

  push(packet: RtpPacket, timestamp: number, bytes: Uint8Array, now: number): void {
    this.hear(packet, timestamp, bytes, now)
    const { sequence, payloadOffset, payloadLength, marker } = packet
    this.jitter.push(sequence, timestamp, bytes, payloadOffset, payloadLength, now, marker)
  }

  hear(packet: RtpPacket, timestamp: number, bytes: Uint8Array, now: number): void {
    const { payloadType, sequence, payloadOffset, payloadLength } = packet
    if (payloadType !== this.#usual && this.#meanings[payloadType] !== THIS_LAW)
      recode(OCTETS[this.#law.name], bytes, payloadOffset, payloadLength)
    if (this.#listener.hearsStream)
      this.#ear.push(this.#law, sequence, timestamp, bytes, payloadOffset, payloadLength, now)
  }

  guess(): Frame | null {
    return this.#listener.hearsStream ? this.#ear.guess() : null
  }

  handOver(take: (octets: Uint8Array) => void): boolean {
    const { jitter } = this
    const { waiting } = this.#playout
    if (waiting >= LEG_SAMPLES || this.#plc.isConcealing || !jitter.isWhole) return false
    const octets = new Uint8Array(LEG_SAMPLES)
    if (waiting > 0) {
      // The rest after a speed change is too short for a packet: together with the next frame it makes two.
      if (!jitter.takeWhole(octets)) return false
      this.#law.encode(this.#playout.takeRest(), REST)
      const both = Uint8Array.of(...REST.subarray(0, waiting), ...octets)
      take(both.subarray(0, both.length >> 1))
      take(both.subarray(both.length >> 1))
    }
    while (jitter.takeWhole(octets)) take(octets)
    return true
  }

  settle(now: number): void {
    this.#ear.settle(this.#law, now)
  }

  skip(sequence: number): void {
    this.#ear.skip(sequence)
    this.jitter.skip(sequence)
  }

  pull(now: number): Frame | null {
    return this.#playout.pull(now)
  }

  make(kind: FrameKind, payload: Uint8Array, played: PlayedFrames, more: Int16Array): number {
    const plc = this.#plc
    if (this.#isLeftAlone) {
      const frame = played.frames[played.at]!
      if (kind === 'lost') frame.fill(0)
      else this.#law.decode(payload, frame)
      return 0
    }
    if (kind === 'lost') {
      plc.conceal(played)
      return 0
    }
    const frame = played.frames[played.at]!
    this.#law.decode(payload, frame)
    if (this.jitter.hasHoles) {
      plc.mend(played, this.jitter.holes)
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

  add(frame: Frame | null, encoded: Uint8Array | null): number {
    return this.#packetizer.add(this.#law, frame, encoded)
  }

  flush(): number {
    return this.#packetizer.flush()
  }

  drop(): void {
    this.#packetizer.drop()
  }

  leaveAlone(): void {
    this.#isLeftAlone = true
    this.#playout.leaveAlone()
  }

  reset(): void {
    this.#ear.reset()
    this.passes()
  }

  passes(): void {
    this.jitter.reset()
    this.#playout.reset()
  }
}

/** A frame as it was sent, behind room for the header of its packet: the packet is copied whole [bytes]. */
const PLACE_BYTES = HEAD_BYTES + LEG_SAMPLES

const placeAfter = (place: number): number => (place + 1 === PLAYED_FRAMES ? 0 : place + 1)

/** The last frames of a stream, in which something was lost. */
interface Mended {
  readonly played: PlayedFrames
  readonly plc: Plc
}

/** Unused ones. A stream needs one only for 100 ms after a loss, so few are enough for all. */
const free: Mended[] = []
const MOST_FREE = 64

/** Decoded for the listener. All legs share them, which therefore stay in the cache. */
const HEARD: Frame = new Int16Array(LEG_SAMPLES)

/**
 * Analyses G.711 in the sender's time: packets in the order in which they were sent, each once, and as a rule as soon as they come. In the played
 * audio, keys may be missing or doubled, because it is cut, stretched and concealed when the network or our own clock stalls; in the sent audio they
 * are not. Lost audio is concealed, so that a key continues across it; a pause of the sender is silence.
 */
class LawEar implements Past {
  readonly #listener: StreamListener
  /** The last frames, in a ring; the one behind the newest is being filled. */
  readonly #sent = uint8Array(PLAYED_FRAMES * PLACE_BYTES)
  /** The place of the newest. */
  #at = 0
  /** The last frames decoded, with losses concealed; null: nothing was lost in them. */
  #mended: Mended | null = null
  /** So many frames more until none of them is. */
  #mendedFor = 0
  #filled = 0
  /** A tone may have begun. */
  #isTone = false
  /** Of the frame that is heard. */
  #law: G711 = PCMU
  #isFresh = true
  #sequence = 0
  /** The expected start of the next packet. */
  #timestamp = 0
  /** Packets behind one that has not come; null: nothing is missing. */
  #early: EarlyPackets | null = null

  constructor(listener: StreamListener) {
    this.#listener = listener
  }

  /** Takes a packet of `law`. @param timestamp in samples */
  push(
    law: G711,
    sequence: number,
    timestamp: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    now: number,
  ): void {
    if (this.#isFresh) this.#begin(law, sequence, timestamp)
    const hole = (timestamp - this.#timestamp) | 0
    const missing = this.#missingBefore(sequence)
    if (hole === 0 && missing === 0 && this.#early === null) {
      this.#take(law, bytes, offset, offset + length, now)
      this.#sequence = sequence
      this.#timestamp = (timestamp + length) | 0
      return
    }
    // A duplicate, or overtaken for too long: its place has been analysed.
    if (missing < 0) return
    if (this.#early !== null || (missing > 0 && hole > 0)) {
      this.#early ??= new EarlyPackets()
      this.#early.add(sequence, timestamp, length, bytes.subarray(offset, offset + length), now)
      this.#hearEarly(law, this.#early, now)
      return
    }
    this.#next(law, hole, 0, sequence, timestamp, length, bytes, offset, now)
  }

  /** How many packets are missing before this one; negative: it is not newer than the last. */
  #missingBefore(sequence: number): number {
    return (((sequence - this.#sequence) << 16) >> 16) - 1
  }

  /** @param hole before it [samples] @param missing packets before it */
  #next(
    law: G711,
    hole: number,
    missing: number,
    sequence: number,
    timestamp: number,
    length: number,
    bytes: Uint8Array,
    offset: number,
    now: number,
  ): void {
    const before = hole >= BRIDGED && missing * length >= hole ? this.#edge(law, length) : null
    if (hole > 0) this.#pass(law, Math.min(hole, MAX_HOLE), missing * length, now)
    if (before !== null) this.#bridge(law, before, bytes, offset, hole)
    if (hole >= 0 || hole <= -MAX_HOLE) this.#take(law, bytes, offset, offset + length, now)
    this.#sequence = sequence
    this.#timestamp = (timestamp + length) | 0
  }

  /** What the first one waits for has come, or is lost. */
  #hearEarly(law: G711, early: EarlyPackets, now: number): void {
    for (let packet = early.first; packet !== undefined; packet = early.first) {
      const { sequence, timestamp, length, payload } = packet
      const hole = (timestamp - this.#timestamp) | 0
      const missing = this.#missingBefore(sequence)
      if (missing > 0 && hole > 0 && !early.isDue(now)) return
      early.take()
      if (missing >= 0) this.#next(law, hole, missing, sequence, timestamp, length, payload, 0, now)
    }
    this.#early = null
  }

  /** To be called a few times a second: what is missing may be lost although nothing else comes. */
  settle(law: G711, now: number): void {
    if (this.#early !== null) this.#hearEarly(law, this.#early, now)
  }

  /** A packet without audio: it does not count as lost. */
  skip(sequence: number): void {
    if (this.#missingBefore(sequence) >= 0) this.#sequence = sequence
  }

  /** Another law from now on. */
  recode(octets: Uint8Array): void {
    this.#early = null
    recode(octets, this.#sent, 0, this.#sent.length)
  }

  /** Another source: nothing continues. */
  reset(): void {
    this.#isFresh = true
    this.#early = null
  }

  /** What would come next; null: it has heard nothing. To be called at its end. */
  guess(): Frame | null {
    if (this.#isFresh) return null
    const { played, plc } = this.#mended ?? this.#beginMended(this.#law)
    played.at = placeAfter(this.#at)
    plc.conceal(played)
    const guessed = played.frames[played.at]!.slice()
    plc.good(played.frames[played.at]!)
    this.#endMended()
    return guessed
  }

  #begin(law: G711, sequence: number, timestamp: number): void {
    this.#isFresh = false
    this.#filled = 0
    this.#sent.fill(law.silence)
    this.#endMended()
    this.#sequence = (sequence - 1) & 0xffff
    this.#timestamp = timestamp
  }

  /** The frame before a hole, if a tone sounds there and a whole frame follows; null: that is not so. @param length of the packet behind it */
  #edge(law: G711, length: number): Frame | null {
    if (!this.#isTone || this.#filled > 0 || length < LEG_SAMPLES) return null
    const frame = new Int16Array(LEG_SAMPLES)
    this.#decode(law, this.#at, frame)
    return frame
  }

  #bridge(law: G711, before: Frame, bytes: Uint8Array, offset: number, hole: number): void {
    const after = new Int16Array(LEG_SAMPLES)
    law.decode(bytes.subarray(offset, offset + LEG_SAMPLES), after)
    this.#listener.hearHole(before, after, hole)
  }

  /** @param lost how many of these samples were sent and did not arrive */
  #pass(law: G711, samples: number, lost: number, now: number): void {
    for (let i = 0; i < samples; ) {
      if (i + LEG_SAMPLES <= lost && this.#filled === 0) {
        this.#conceal(law, now)
        i += LEG_SAMPLES
        continue
      }
      // For less than a lost frame, the replacement was analysed a frame earlier.
      this.#fill(law, i++ >= lost ? law.silence : this.#sent[this.#octetsOf(this.#at) + this.#filled]!, now)
    }
  }

  #take(law: G711, bytes: Uint8Array, from: number, to: number, now: number): void {
    if (this.#filled === 0 && from === HEAD_BYTES && to === PLACE_BYTES && bytes.length === PLACE_BYTES) {
      // As nearly every packet is: nothing is counted.
      copy(this.#sent, bytes, placeAfter(this.#at) * PLACE_BYTES)
      copy(HEADED_IO, bytes)
      this.#hear(law, now)
      return
    }
    for (let i = from; i < to; i++) this.#fill(law, bytes[i]!, now)
  }

  #fill(law: G711, octet: number, now: number): void {
    const at = this.#octetsOf(placeAfter(this.#at))
    this.#sent[at + this.#filled] = octet
    if (++this.#filled < LEG_SAMPLES) return
    this.#filled = 0
    for (let i = 0; i < LEG_SAMPLES; i++) OCTETS_IO[i] = this.#sent[at + i]!
    this.#hear(law, now)
  }

  #octetsOf(place: number): number {
    return place * PLACE_BYTES + HEAD_BYTES
  }

  /** The next frame is whole, and its octets are in the kernel: most of speech and noise is no tone, and costs no more than this. */
  #hear(law: G711, now: number): void {
    const place = placeAfter(this.#at)
    this.#at = place
    this.#law = law
    if (this.#mended !== null) {
      this.#hearMended(this.#mended, law, now)
      return
    }
    law.decodeOut(LEG_SAMPLES)
    if (!this.#isTone && !mayBeTone()) return
    this.#decode(law, place, HEARD)
    this.#isTone = this.#listener.hearStream(HEARD, this, now)
  }

  #hearMended({ played, plc }: Mended, law: G711, now: number): void {
    const { frames } = played
    const frame = frames[this.#at]!
    this.#decode(law, this.#at, frame)
    if (plc.isConcealing) plc.good(frame)
    this.#tell(frame, now)
    if (--this.#mendedFor === 0) this.#endMended()
  }

  #beginMended(law: G711): Mended {
    const mended = free.pop() ?? { played: new PlayedFrames(LEG_SAMPLES), plc: new Plc() }
    for (const [place, frame] of mended.played.frames.entries()) this.#decode(law, place, frame)
    this.#mended = mended
    return mended
  }

  #endMended(): void {
    const mended = this.#mended
    this.#mended = null
    if (mended !== null && !mended.plc.isConcealing && free.length < MOST_FREE) free.push(mended)
  }

  #conceal(law: G711, now: number): void {
    const { played, plc } = this.#mended ?? this.#beginMended(law)
    const { frames } = played
    const before = this.#at
    this.#at = placeAfter(before)
    this.#sent.copyWithin(this.#at * PLACE_BYTES, before * PLACE_BYTES, (before + 1) * PLACE_BYTES)
    played.at = this.#at
    plc.conceal(played)
    // The first good one is joined to it.
    this.#mendedFor = PLAYED_FRAMES + 1
    this.#tell(frames[this.#at]!, now)
  }

  #tell(frame: Frame, now: number): void {
    if (!this.#isTone) copy(FRAME_OUT, frame)
    if (this.#isTone || mayBeTone()) this.#isTone = this.#listener.hearStream(frame, this, now)
  }

  /** What came before the frame that is heard, oldest first. */
  read(into: Frame): void {
    for (let n = 0, place = placeAfter(this.#at); n < FRAMES_BEFORE; n++, place = placeAfter(place)) {
      const part = into.subarray(n * LEG_SAMPLES, (n + 1) * LEG_SAMPLES)
      if (this.#mended === null) this.#decode(this.#law, place, part)
      else part.set(this.#mended.played.frames[place]!)
    }
  }

  #decode(law: G711, place: number, into: Frame): void {
    const at = this.#octetsOf(place)
    law.decode(this.#sent.subarray(at, at + LEG_SAMPLES), into)
  }
}

/** Of the kernel's output. */
function mayBeTone(): boolean {
  correlate(FRAME_OUT_AT, LEG_SAMPLES)
  const energy = correlations[0]!
  if (energy < TONAL.power * LEG_SAMPLES) return false
  const next = correlations[1]! / energy
  const error = correlations[2]! / energy + 1 - 2 * next * next
  return isWithin(next, TONAL.next) && isWithin(error, TONAL.error)
}

const isWithin = (value: number, [from, to]: readonly [number, number]): boolean => value >= from && value <= to
