/** More that are missing, or more time between two packets, is not passed on: the mix makes audio of it [packets, samples]. */
const MAX_MISSING = 25
const MAX_SAMPLES = 4000
/** Which of so many packets have come is known; what is later than they are is dropped. */
const WINDOW = 32

/** A leg to which packets go on. */
export interface PacketTaker {
  /** Whether it would be the next to send, as they are. */
  readonly takesPackets: boolean
  /** Sends a payload as it came. @param ahead packets that are missing before it, or, negative, by which it is late @param samples likewise */
  takePacket(bytes: Uint8Array, offset: number, ahead: number, samples: number, marker: boolean): void
  /** No packets go on to it any more: what it sends comes from the mix again, as soon as there is any. */
  takesMix(): void
}

/**
 * One direction of a call of which nobody but the two parties hears anything: each packet goes on when it comes, in the place that it has among
 * the others. What is missing is missing for who gets them too, which conceals it as its network's.
 */
export class PacketRelay {
  readonly to: PacketTaker
  /** Whether nobody else is to hear or say anything. */
  readonly isOpen: () => boolean
  /** Of the packet that was placed last: how many are missing before it, or by how many it is late; and the same in samples. */
  ahead = 0
  samples = 0
  /** What the next packet has if none is missing. */
  #sequence: number
  #timestamp: number
  /** Bit n: the packet n + 1 before the next one has come. */
  #seen = -1

  constructor(to: PacketTaker, isOpen: () => boolean, sequence: number, timestamp: number) {
    this.to = to
    this.isOpen = isOpen
    this.#sequence = sequence
    this.#timestamp = timestamp
  }

  /** Finds the place of a packet of `length` samples. `again`, `late`: it is to be dropped; `astray`: it does not go on from the others. */
  place(sequence: number, timestamp: number, length: number): 'here' | 'again' | 'late' | 'astray' {
    const ahead = ((sequence - this.#sequence) << 16) >> 16
    const samples = (timestamp - this.#timestamp) | 0
    this.ahead = ahead
    this.samples = samples
    if (ahead < 0) return this.#placeLate(-ahead - 1)
    if (ahead > MAX_MISSING || samples < 0 || samples > MAX_SAMPLES) return 'astray'
    this.#seen = (this.#seen << (ahead + 1)) | 1
    this.#sequence = (sequence + 1) & 0xffff
    this.#timestamp = (timestamp + length) | 0
    return 'here'
  }

  #placeLate(before: number): 'here' | 'again' | 'late' {
    if (before >= WINDOW || this.samples >= 0) return 'late'
    if (((this.#seen >>> before) & 1) === 1) return 'again'
    this.#seen |= 1 << before
    return 'here'
  }
}
