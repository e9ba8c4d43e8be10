import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import type { LawName } from '../../codecs/g711.ts'
import type { Speaker } from './awaited-mix.ts'

/** Larger gaps, in packets or in time, are not relayed: the mix fills them with audio [packets, samples]. */
const MAX_MISSING = 25
const MAX_SAMPLES = 4000
/**
 * Arrivals are remembered for this many packets. One that is later still is dropped, but if the next one continues from it, the sender has
 * restarted its numbers (RFC 3550 §A.1).
 */
const WINDOW = 32
/** What should have come since the last packet is missing where it was mixed: nothing goes on from there any more [ms]. */
const MOST_MISSING_MS = 2 * FRAME_MS

/** A leg to which packets are relayed. */
export interface PacketTaker {
  /** Whether it would be the next to send packets of this law, as they are. */
  takesPackets(law: LawName | null): boolean
  /** Sends a payload unchanged. @param ahead packets missing before it, or, negative, how late it is @param samples likewise */
  takePacket(bytes: Uint8Array, offset: number, ahead: number, samples: number, marker: boolean): void
  /** The last of them, decoded. */
  readonly taken: Frame
  /** Ends the relay of this party: it sends the mix again, as soon as that party is in it. @param relayedUntil see `AwaitedMix` */
  takesMix(from: Speaker, relayedUntil: number): void
}

/**
 * One direction of a call in which only the two parties hear anything: each packet is relayed on arrival, with its relative
 * position. Missing packets are missing for the receiver too, who conceals them like losses of its own network.
 */
export class PacketRelay {
  readonly to: PacketTaker
  /** Whether nobody else is to hear or say anything. */
  readonly isOpen: () => boolean
  /** When the last packet came [ms]. */
  at: number
  /** How much sooner packets are sent than they would be mixed [ms]. */
  readonly soonerMs: number
  /** For the last packet: how many are missing before it, or how late it is; and the same in samples. */
  ahead = 0
  samples = 0
  /** The values of the next packet if none is missing. */
  #sequence: number
  #timestamp: number
  /** The sequence number after the last packet that was far too late. */
  #afterJump = -1
  /** Bit n: packet n + 1 before the next one has arrived. */
  #seen = -1

  /** @param sequence of the next packet, as `timestamp` */
  constructor(
    to: PacketTaker,
    isOpen: () => boolean,
    sequence: number,
    timestamp: number,
    at: number,
    soonerMs: number,
  ) {
    this.at = at
    this.soonerMs = soonerMs
    this.to = to
    this.isOpen = isOpen
    this.#sequence = sequence
    this.#timestamp = timestamp
  }

  /** Finds the position of a packet of `length` samples. `again`, `late`: to be dropped; `astray`: it does not continue the others. */
  place(sequence: number, timestamp: number, length: number): 'here' | 'again' | 'late' | 'astray' {
    const ahead = ((sequence - this.#sequence) << 16) >> 16
    const samples = (timestamp - this.#timestamp) | 0
    this.ahead = ahead
    this.samples = samples
    if (ahead < 0) return this.#placeLate(sequence, -ahead - 1)
    if (ahead > MAX_MISSING || samples < 0 || samples > MAX_SAMPLES) return 'astray'
    this.#seen = (this.#seen << (ahead + 1)) | 1
    this.#sequence = (sequence + 1) & 0xffff
    this.#timestamp = (timestamp + length) | 0
    return 'here'
  }

  /** Who is relayed says nothing more here: whatever follows is sent at once. @returns the last frame that was relayed; null: it was long ago */
  end(now: number): Frame | null {
    const until = this.at + this.soonerMs
    const said = now > until + MOST_MISSING_MS ? null : this.to.taken
    this.to.takesMix({ said }, until)
    return said
  }

  #placeLate(sequence: number, before: number): 'here' | 'again' | 'late' | 'astray' {
    if (before >= WINDOW) {
      const goesOn = sequence === this.#afterJump
      this.#afterJump = (sequence + 1) & 0xffff
      return goesOn ? 'astray' : 'late'
    }
    if (this.samples >= 0) return 'late'
    if (((this.#seen >>> before) & 1) === 1) return 'again'
    this.#seen |= 1 << before
    return 'here'
  }
}
