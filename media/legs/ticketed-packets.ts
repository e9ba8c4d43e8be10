import { int16Array, int32Array, uint8Array, uint16Array } from '../../codecs/arrays.ts'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { MAX_PACKET_SAMPLES, type PacketCodec } from '../../codecs/packets/packet-codec.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import type { JitterBuffer, PullResult } from '../rtp/jitter.ts'
import { Unwrapper } from '../rtp/rtp.ts'

/** As many as a jitter buffer holds. */
const SLOTS = 64
/** How many steps from packet to packet in a row must show another clock rate than expected: a single one may be a pause. */
const TELLING_STEPS = 2
/**
 * A lost packet is in the next one once more, which on a calm network comes when its turn is over. Where that happens twice within ten seconds, and is
 * not outweighed by repeats that came in time, as much more as is repeated is kept waiting for a minute [frames].
 */
const SOON_AGAIN = 500
const KEPT_FOR = 3000
const TOO_LATE = 2
/**
 * `recovered`: a packet was lost, and is in the next one once more. `rest`: so was its beginning, which was played before. `lost`: a part is lost, and the
 * codec cannot conceal it.
 */
type Played = 'played' | 'recovered' | 'rest' | 'lost'
/** A ticket without audio: larger than every slot number. */
export const NO_TICKET = 0xc0
/** The ticket of a lost packet. */
export const LOST_TICKET = 0xc1
/** Instead of a slot: what is being played is lost, and comes from the next packet. */
const REPEATED = -2

/**
 * Puts packets of any codec behind the jitter buffer of G.711, which plays one byte per unit of 8 kHz. The buffer gets tickets: as many
 * bytes as the packet lasts, each with the number of the packet's slot. So one buffer orders, delays and counts for all codecs. Packets are
 * decoded at their turn. A lost one is recovered from the next packet if that repeats it (FEC), otherwise concealed by the codec.
 */
export class TicketedPackets {
  /** Packets that were not of the codec, or too long. */
  refused = 0
  readonly #codec: PacketCodec
  /** Units of the sender's clock per unit of 8 kHz, and samples likewise. */
  #clockUnits: number
  readonly #samples: number
  readonly #timestamps = new Unwrapper(32)
  /** Some senders of G.722 count its samples, at 16 kHz, against RFC 3551 §4.5.2. */
  readonly #mayCountSamples: boolean
  /** The last timestamp, on the wire and in units of 8 kHz; and from where on they are converted. */
  #wire = 0
  #fromWire = 0
  #fromUnits = 0
  /** The last packet: where it began and ended, in units of 8 kHz. */
  #lastSequence = -1
  #lastTimestamp = 0
  #lastUnits = 0
  /** Steps that showed another clock rate, and their sum. */
  #tellingSteps = 0
  #told = 0
  readonly #bytes: Uint8Array
  readonly #lengths = uint16Array(SLOTS)
  readonly #sequences = int32Array(SLOTS).fill(-1)
  readonly #tickets = uint8Array(MAX_PACKET_SAMPLES)
  readonly #pcm: Int16Array
  #nextSlot = 0
  /** The packet being played (-1: none), and how much of it was [samples]. */
  #slot = -1
  #played = 0
  #decoded = 0
  /** Of the last packet that was played; how long it was, and how much was missing after it until now [samples]. */
  #sequence = -1
  #length = 0
  #missing = 0
  /** The packet after one that was made up, and how much of that there was to make up; -1: it has been seen. */
  #awaited = -1
  #madeUp = 0
  /** Repeats that came too late, less those in time; and when the last one came, counted in frames from the first packet. */
  #tooLate = 0
  #tooLateAt = 0
  #count = 0
  /** Since when a further frame is kept; negative: it is not. */
  #keptAt = -1

  constructor(codec: PacketCodec) {
    this.#codec = codec
    this.#clockUnits = codec.clockRateHz / NARROWBAND_HZ
    this.#samples = codec.sampleRateHz / NARROWBAND_HZ
    this.#mayCountSamples = codec.clockRateHz < codec.sampleRateHz
    this.#bytes = uint8Array(SLOTS * codec.maxPacketBytes)
    this.#pcm = int16Array(MAX_PACKET_SAMPLES * this.#samples)
  }

  /** Converts a timestamp of the wire to units of 8 kHz, with wrap-around like that of the wire. */
  timestampOf(timestamp: number): number {
    this.#wire = this.#timestamps.unwrap(timestamp)
    return (this.#fromUnits + Math.floor((this.#wire - this.#fromWire) / this.#clockUnits)) >>> 0
  }

  /** @param timestamp in units of 8 kHz */
  push(
    jitter: JitterBuffer,
    sequence: number,
    timestamp: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    now: number,
    isBegin = false,
  ): void {
    const { maxPacketBytes } = this.#codec
    const units = length > maxPacketBytes ? 0 : this.#codec.lengthOf(bytes, offset, length)
    if (units === 0) {
      this.refused++
      jitter.skip(sequence)
      return
    }
    // What was made up has not been lost: it is late, or its sender fell silent.
    if (((sequence + 1) & 0xffff) === this.#awaited) this.#awaited = -1
    const at8k = this.#mayCountSamples ? this.#onItsClock(jitter, sequence, timestamp, units) : timestamp
    const slot = this.#nextSlot
    this.#tickets.fill(slot, 0, units)
    if (jitter.push(sequence, at8k, this.#tickets, 0, units, now, isBegin) !== 'ok') return
    const at = slot * maxPacketBytes
    for (let i = 0; i < length; i++) this.#bytes[at + i] = bytes[offset + i]!
    this.#lengths[slot] = length
    this.#sequences[slot] = sequence
    this.#nextSlot = (slot + 1) % SLOTS
    this.#count += units / LEG_SAMPLES
    if (sequence === this.#awaited) this.#cameLate(jitter, slot)
    if (this.#keptAt >= 0 && this.#count - this.#keptAt > KEPT_FOR) {
      this.#keptAt = -1
      jitter.reserve(0)
    }
  }

  /** The packet after one that has been made up. */
  #cameLate(jitter: JitterBuffer, slot: number): void {
    this.#awaited = -1
    const repeated = this.#codec.repeats?.(this.packet(slot)) ?? 0
    if (repeated < this.#madeUp) return
    if (this.#count - this.#tooLateAt > SOON_AGAIN) this.#tooLate = 0
    this.#tooLateAt = this.#count
    if (++this.#tooLate < TOO_LATE) return
    this.#keptAt = this.#count
    jitter.reserve(Math.ceil(repeated / (LEG_SAMPLES * this.#samples)))
  }

  /**
   * From packet to packet, timestamps go on by as much as the packet holds; where it is twice or half of that again and again, the sender's clock
   * runs at another rate than was thought, and its audio is played anew from here.
   *
   * @returns the packet's timestamp by the clock that the sender has
   */
  #onItsClock(jitter: JitterBuffer, sequence: number, timestamp: number, units: number): number {
    const step = (timestamp - this.#lastTimestamp) | 0
    const isNext = sequence === ((this.#lastSequence + 1) & 0xffff)
    const isTelling = isNext && step === (this.#clockUnits === 1 ? 2 * this.#lastUnits : this.#lastUnits / 2)
    this.#told = isTelling ? this.#told + step : 0
    this.#tellingSteps = isTelling ? this.#tellingSteps + 1 : 0
    this.#lastSequence = sequence
    this.#lastTimestamp = timestamp
    this.#lastUnits = units
    return this.#tellingSteps < TELLING_STEPS ? timestamp : this.#turn(jitter)
  }

  #turn(jitter: JitterBuffer): number {
    const span = this.#clockUnits === 1 ? this.#told / 2 : this.#told * 2
    this.#clockUnits = this.#clockUnits === 1 ? 2 : 1
    this.#fromWire = this.#wire
    this.#fromUnits = (this.#lastTimestamp - this.#told + span) >>> 0
    this.#lastTimestamp = this.#fromUnits
    this.#tellingSteps = 0
    this.#told = 0
    jitter.reset()
    return this.#fromUnits
  }

  /** Turns the output of the jitter buffer into a frame. */
  play(result: PullResult, tickets: Uint8Array, frame: Int16Array): Played {
    if (result === 'lost') return this.#lost(frame)
    let how: Played = 'played'
    for (let at = 0; at < tickets.length; ) {
      const ticket = tickets[at]!
      let end = at + 1
      while (end < tickets.length && tickets[end] === ticket) end++
      if (ticket === LOST_TICKET) {
        const part = this.#lost(frame.subarray(at * this.#samples, end * this.#samples))
        if (how !== 'lost') how = part
      } else this.#run(ticket, frame, at * this.#samples, end * this.#samples)
      at = end
    }
    return how
  }

  #run(ticket: number, frame: Int16Array, from: number, to: number): void {
    if (ticket < SLOTS && ticket !== this.#slot && this.#sequences[ticket] !== -1) this.#begin(ticket)
    const isHere = ticket === this.#slot
    for (let i = from; i < to; i++) {
      frame[i] = isHere && this.#played < this.#decoded ? this.#pcm[this.#played++]! : 0
    }
  }

  #begin(slot: number): void {
    this.#slot = slot
    this.#played = 0
    this.#sequence = this.#sequences[slot]!
    // Each is played once.
    this.#sequences[slot] = -1
    this.#decoded = this.#codec.decode(this.packet(slot), this.#pcm)
    if (this.#decoded > 0) this.#length = this.#decoded
    this.#missing = 0
  }

  /** The packet of this ticket, borrowed until others come. */
  packet(slot: number): Uint8Array {
    const at = slot * this.#codec.maxPacketBytes
    return this.#bytes.subarray(at, at + this.#lengths[slot]!)
  }

  #lost(frame: Int16Array): Played {
    const isBegin = this.#missing % this.#length === 0
    const isRest = this.#slot === REPEATED && this.#played + frame.length <= this.#decoded
    const isRepeated = isRest || this.#takeRepeat(frame.length)
    this.#missing += frame.length
    if (isRepeated) {
      frame.set(this.#pcm.subarray(this.#played, this.#played + frame.length))
      this.#played += frame.length
      return isBegin ? 'recovered' : 'rest'
    }
    if (this.#codec.conceal(frame) > 0) return 'played'
    frame.fill(0)
    return 'lost'
  }

  /** Takes what is missing now from the packet after it, which has the end of the one that is missing, or all of it. */
  #takeRepeat(samples: number): boolean {
    const length = Math.max(this.#length, samples)
    const packets = Math.floor(this.#missing / length)
    const left = length - (this.#missing % length)
    const next = (this.#sequence + packets + 2) & 0xffff
    const slot = this.#sequences.indexOf(next)
    this.#slot = -1
    this.#awaited = slot < 0 ? next : -1
    this.#madeUp = left
    const packet = slot < 0 ? null : this.packet(slot)
    const repeated = packet === null ? 0 : (this.#codec.repeats?.(packet) ?? 0)
    if (packet === null || repeated < left || left < samples) return false
    if (this.#codec.recover(packet, this.#pcm.subarray(0, repeated)) === 0) return false
    this.#tooLate = Math.max(0, this.#tooLate - 1)
    this.#slot = REPEATED
    this.#decoded = repeated
    this.#played = repeated - left
    return true
  }

  /** Another source: nothing continues. */
  reset(): void {
    this.#timestamps.reset()
    this.#clockUnits = this.#codec.clockRateHz / NARROWBAND_HZ
    this.#fromWire = 0
    this.#fromUnits = 0
    this.#lastSequence = -1
    this.#tellingSteps = 0
    this.#told = 0
    this.#sequences.fill(-1)
    this.#awaited = -1
    this.#slot = -1
    this.#missing = 0
    this.#codec.reset()
  }
}
