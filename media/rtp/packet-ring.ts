import { float64Array } from '../../codecs/arrays.ts'
import { copy } from '../../codecs/kernels/frames.ts'

/** Length of the ring; a newer packet that does not fit is dropped and counted as overflow. */
export const RING_PACKETS = 64
/** The longest payload that is stored: 200 ms of G.711 (RFC 3551 §4.2). */
export const RING_PAYLOAD_BYTES = 1_600

const MASK = RING_PACKETS - 1
/** What is known of a packet: beside each other, so that a packet touches one line of the cache. */
const FIELDS = 4
const TIMESTAMP = 1
const LENGTH = 2
const STATE = 3
const ABSENT = 0
const HELD = 1
/** Played, too late, or without audio. */
const SPENT = 2

/** Transcodes octets in place: `octets` maps each to its new value. */
export function recode(octets: Uint8Array, bytes: Uint8Array, offset: number, length: number): void {
  for (let i = offset; i < offset + length; i++) bytes[i] = octets[bytes[i]!]!
}

/** The packets of one stream by unwrapped sequence number. Their payloads are in blocks shared by all streams. */
export class PacketRing {
  /** First sequence number that has not been played. */
  next = 0
  highest = 0
  /** Set by `seek`: the packet, and the number of packets missing before it. */
  found = 0
  missing = 0
  readonly #counters: { lost: number; discarded: number }
  /** Of each place: sequence number, timestamp, length, state. */
  readonly #packets = float64Array(FIELDS * RING_PACKETS)
  readonly #blocks: (PacketBlock | null)[] = new Array(RING_PACKETS).fill(null)

  /** @param counters of the owner: packets that never came, and packets that were dropped */
  constructor(counters: { lost: number; discarded: number }) {
    this.#counters = counters
    this.start(0)
  }

  /** Drops every packet; the stream continues with this sequence number. */
  start(sequence: number): void {
    for (let slot = 0; slot < RING_PACKETS; slot++) {
      const at = FIELDS * slot
      if (this.#packets[at + STATE] === HELD) {
        this.#counters.discarded++
        this.#release(slot)
      }
      this.#packets[at] = Number.NaN
      this.#packets[at + STATE] = ABSENT
    }
    this.next = sequence
    this.highest = sequence - 1
  }

  has(sequence: number): boolean {
    return this.#packets[FIELDS * (sequence & MASK)] === sequence
  }

  /** Extends the ring to this sequence number by dropping what ends by `past`; false if newer audio is in the way. */
  reach(sequence: number, past: number): boolean {
    while (sequence - this.next >= RING_PACKETS) {
      const slot = this.next & MASK
      const at = FIELDS * slot
      if (this.#packets[at] !== this.next) this.#counters.lost++
      else if (this.#packets[at + STATE] === HELD) {
        if (this.#packets[at + TIMESTAMP]! + this.#packets[at + LENGTH]! > past) return false
        this.#counters.discarded++
        this.#release(slot)
      }
      this.next++
    }
    return true
  }

  /** Copies in a packet; `reach` has made room for it. */
  store(sequence: number, timestamp: number, bytes: Uint8Array, offset: number, length: number): void {
    const slot = sequence & MASK
    this.#occupy(sequence, HELD)
    const at = FIELDS * slot
    this.#packets[at + TIMESTAMP] = timestamp
    this.#packets[at + LENGTH] = length
    const block = takeBlock(length)
    block.keep(bytes, offset, length)
    this.#blocks[slot] = block
  }

  /** Notes a packet without audio: it does not count as missing, and a second copy is a duplicate. */
  spend(sequence: number): void {
    if (sequence - this.next >= RING_PACKETS || this.#packets[FIELDS * (sequence & MASK)]! > sequence) return
    this.#occupy(sequence, SPENT)
  }

  /** Copies the next packet if it is exactly what is needed: all of `out`, from this timestamp on. */
  takeWhole(timestamp: number, out: Uint8Array): boolean {
    const { next } = this
    const slot = next & MASK
    const packets = this.#packets
    const at = FIELDS * slot
    if (packets[at] !== next || packets[at + STATE] !== HELD) return false
    if (packets[at + TIMESTAMP] !== timestamp || packets[at + LENGTH] !== out.length) return false
    copy(out, this.#blocks[slot]!.payload)
    this.#release(slot)
    this.next = next + 1
    return true
  }

  /** Whether it holds exactly the audio between two timestamps, in packets of this length without gaps. */
  isWhole(from: number, to: number, length: number): boolean {
    let timestamp = from
    for (let sequence = this.next; sequence <= this.highest; sequence++) {
      const at = FIELDS * (sequence & MASK)
      if (this.#packets[at] !== sequence || this.#packets[at + STATE] !== HELD) return false
      if (this.#packets[at + TIMESTAMP] !== timestamp || this.#packets[at + LENGTH] !== length) return false
      timestamp += length
    }
    return timestamp === to
  }

  /** Finds the first audio that has not been played; skips used packets and counts missing ones before it. */
  seek(): boolean {
    let missing = 0
    for (let sequence = this.next; sequence <= this.highest; sequence++) {
      const at = FIELDS * (sequence & MASK)
      if (this.#packets[at] !== sequence) missing++
      else if (this.#packets[at + STATE] === HELD) {
        this.found = sequence
        this.missing = missing
        return true
      } else if (missing === 0) this.next = sequence + 1
    }
    return false
  }

  /** Timestamp of the found packet. */
  get timestamp(): number {
    return this.#packets[FIELDS * (this.found & MASK) + TIMESTAMP]!
  }

  /** Length of the found packet [bytes]. */
  get length(): number {
    return this.#packets[FIELDS * (this.found & MASK) + LENGTH]!
  }

  /**
   * Copies bytes of the found packet, from `offset` on, to `out[at]` and up to `out[end]`; packets missing before it now count as
   * lost. A used-up packet is skipped.
   *
   * @returns bytes copied, 0 if `offset` is beyond the packet
   */
  take(offset: number, out: Uint8Array, at: number, end: number): number {
    const slot = this.found & MASK
    const length = this.#packets[FIELDS * slot + LENGTH]!
    this.#counters.lost += this.missing
    this.next = this.found
    const taken = Math.max(0, Math.min(length - offset, end - at))
    const { payload } = this.#blocks[slot]!
    for (let i = 0; i < taken; i++) out[at + i] = payload[offset + i]!
    if (offset + taken >= length) {
      this.#release(slot)
      this.next = this.found + 1
    }
    if (taken === 0) this.#counters.discarded++
    return taken
  }

  /** Calls this with each packet that has not been played, and the first byte of its payload, in their order. */
  each(take: (sequence: number, timestamp: number, length: number, first: number) => void): void {
    for (let sequence = this.next; sequence <= this.highest; sequence++) {
      const slot = sequence & MASK
      const at = FIELDS * slot
      if (this.#packets[at] !== sequence || this.#packets[at + STATE] !== HELD) continue
      take(sequence, this.#packets[at + TIMESTAMP]!, this.#packets[at + LENGTH]!, this.#blocks[slot]!.payload[0]!)
    }
  }

  /** Transcodes every stored octet by the table `octets`. */
  recode(octets: Uint8Array): void {
    for (let slot = 0; slot < RING_PACKETS; slot++) {
      if (this.#packets[FIELDS * slot + STATE] !== HELD) continue
      recode(octets, this.#blocks[slot]!.payload, 0, this.#packets[FIELDS * slot + LENGTH]!)
    }
  }

  #occupy(sequence: number, state: number): void {
    const slot = sequence & MASK
    const at = FIELDS * slot
    if (this.#packets[at + STATE] === HELD) this.#release(slot)
    this.#packets[at] = sequence
    this.#packets[at + STATE] = state
    if (sequence > this.highest) this.highest = sequence
  }

  /** The packet of this slot is used up, or dropped. */
  #release(slot: number): void {
    this.#packets[FIELDS * slot + STATE] = SPENT
    giveBlock(this.#blocks[slot]!)
    this.#blocks[slot] = null
  }
}

/** Size of a packet of up to 20 ms with its header, and of the longest payload [bytes]. */
const SMALL = 256
const LARGE = 1664
/** Blocks allocated at once: few, because one that is in use keeps the memory of the others. */
const SLAB_BLOCKS = 2
/** Maximum number of free blocks kept: as many as a thread's legs need at a time, except after a stall, when all have gathered packets. */
const MOST_FREE = 2048

/** Space for one packet. */
class PacketBlock {
  /** The stored payload. */
  payload: Uint8Array
  readonly #bytes: Uint8Array
  #offset = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.payload = bytes
  }

  /** Copies in a payload. If the whole packet fits, it is copied whole: a view of a part costs more than the surplus bytes. */
  keep(bytes: Uint8Array, offset: number, length: number): void {
    const isWhole = bytes.length <= this.#bytes.length
    copy(this.#bytes, isWhole ? bytes : bytes.subarray(offset, offset + length))
    const at = isWhole ? offset : 0
    // Packets of a stream have similar lengths, so the last view often fits the next packet.
    if (this.#offset === at && this.payload.length === length) return
    this.#offset = at
    this.payload = this.#bytes.subarray(at, at + length)
  }

  get isSmall(): boolean {
    return this.#bytes.length === SMALL
  }
}

/**
 * Free blocks of this thread, shared by all streams, since a steady stream holds only one or two packets. The last one is used next, because
 * it is in the cache. A stream that ends keeps the blocks it holds.
 */
const small: PacketBlock[] = []
const large: PacketBlock[] = []

/** A block for a payload of up to `RING_PAYLOAD_BYTES`, until it is released. */
export function takeBlock(payloadLength: number): PacketBlock {
  const isSmall = payloadLength <= SMALL
  const free = isSmall ? small : large
  if (free.length === 0) fill(free, isSmall ? SMALL : LARGE)
  return free.pop()!
}

export function giveBlock(block: PacketBlock): void {
  const free = block.isSmall ? small : large
  if (free.length < MOST_FREE) free.push(block)
}

function fill(free: PacketBlock[], bytes: number): void {
  const slab = new Uint8Array(SLAB_BLOCKS * bytes)
  for (let at = 0; at < slab.length; at += bytes) free.push(new PacketBlock(slab.subarray(at, at + bytes)))
}
