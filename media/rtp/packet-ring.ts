/** Length of the ring; a newer packet that does not fit is dropped and counted as overflow. */
export const RING_PACKETS = 64
/** The longest payload that is stored: 125 ms of G.711. */
export const RING_PAYLOAD_BYTES = 1_000

const MASK = RING_PACKETS - 1
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
  readonly #sequences = new Float64Array(RING_PACKETS)
  readonly #timestamps = new Float64Array(RING_PACKETS)
  readonly #lengths = new Uint16Array(RING_PACKETS)
  readonly #states = new Uint8Array(RING_PACKETS)
  /** Number of stored packets. */
  readonly #blocks: (PacketBlock | null)[] = new Array(RING_PACKETS).fill(null)

  /** @param counters of the owner: packets that never came, and packets that were dropped */
  constructor(counters: { lost: number; discarded: number }) {
    this.#counters = counters
    this.start(0)
  }

  /** Drops every packet; the stream continues with this sequence number. */
  start(sequence: number): void {
    for (let slot = 0; slot < RING_PACKETS; slot++) {
      if (this.#states[slot] !== HELD) continue
      this.#counters.discarded++
      this.#release(slot)
    }
    this.#states.fill(ABSENT)
    this.#sequences.fill(Number.NaN)
    this.next = sequence
    this.highest = sequence - 1
  }

  has(sequence: number): boolean {
    return this.#sequences[sequence & MASK] === sequence
  }

  /** Extends the ring to this sequence number by dropping what ends by `past`; false if newer audio is in the way. */
  reach(sequence: number, past: number): boolean {
    while (sequence - this.next >= RING_PACKETS) {
      const slot = this.next & MASK
      if (this.#sequences[slot] !== this.next) this.#counters.lost++
      else if (this.#states[slot] === HELD) {
        if (this.#timestamps[slot]! + this.#lengths[slot]! > past) return false
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
    this.#timestamps[slot] = timestamp
    this.#lengths[slot] = length
    const block = takeBlock(length)
    block.keep(bytes, offset, length)
    this.#blocks[slot] = block
  }

  /** Notes a packet without audio: it does not count as missing, and a second copy is a duplicate. */
  spend(sequence: number): void {
    if (sequence - this.next >= RING_PACKETS || this.#sequences[sequence & MASK]! > sequence) return
    this.#occupy(sequence, SPENT)
  }

  /** Copies the next packet if it is exactly what is needed: all of `out`, from this timestamp on. */
  takeWhole(timestamp: number, out: Uint8Array): boolean {
    const { next } = this
    const slot = next & MASK
    if (this.#sequences[slot] !== next || this.#states[slot] !== HELD) return false
    if (this.#timestamps[slot] !== timestamp || this.#lengths[slot] !== out.length) return false
    out.set(this.#blocks[slot]!.payload)
    this.#release(slot)
    this.next = next + 1
    return true
  }

  /** Whether it holds exactly the audio between two timestamps, in packets of this length without gaps. */
  isWhole(from: number, to: number, length: number): boolean {
    let timestamp = from
    for (let sequence = this.next; sequence <= this.highest; sequence++) {
      const slot = sequence & MASK
      if (this.#sequences[slot] !== sequence || this.#states[slot] !== HELD) return false
      if (this.#timestamps[slot] !== timestamp || this.#lengths[slot] !== length) return false
      timestamp += length
    }
    return timestamp === to
  }

  /** Finds the first audio that has not been played; skips used packets and counts missing ones before it. */
  seek(): boolean {
    let missing = 0
    for (let sequence = this.next; sequence <= this.highest; sequence++) {
      const slot = sequence & MASK
      if (this.#sequences[slot] !== sequence) missing++
      else if (this.#states[slot] === HELD) {
        this.found = sequence
        this.missing = missing
        return true
      } else if (missing === 0) this.next = sequence + 1
    }
    return false
  }

  /** Timestamp of the found packet. */
  get timestamp(): number {
    return this.#timestamps[this.found & MASK]!
  }

  /** Length of the found packet [bytes]. */
  get length(): number {
    return this.#lengths[this.found & MASK]!
  }

  /**
   * Copies bytes of the found packet, from `offset` on, to `out[at]` and up to `out[end]`; packets missing before it now count as
   * lost. A used-up packet is skipped.
   *
   * @returns bytes copied, 0 if `offset` is beyond the packet
   */
  take(offset: number, out: Uint8Array, at: number, end: number): number {
    const slot = this.found & MASK
    const length = this.#lengths[slot]!
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

  /** Transcodes every stored octet by the table `octets`. */
  recode(octets: Uint8Array): void {
    for (let slot = 0; slot < RING_PACKETS; slot++) {
      if (this.#states[slot] !== HELD) continue
      recode(octets, this.#blocks[slot]!.payload, 0, this.#lengths[slot]!)
    }
  }

  #occupy(sequence: number, state: number): void {
    const slot = sequence & MASK
    if (this.#states[slot] === HELD) this.#release(slot)
    this.#sequences[slot] = sequence
    this.#states[slot] = state
    if (sequence > this.highest) this.highest = sequence
  }

  /** The packet of this slot is used up, or dropped. */
  #release(slot: number): void {
    this.#states[slot] = SPENT
    giveBlock(this.#blocks[slot]!)
    this.#blocks[slot] = null
  }
}

/** Size of a packet of up to 20 ms with its header, and of the longest payload [bytes]. */
const SMALL = 256
const LARGE = 1024
/** Blocks allocated at once. */
const SLAB_BLOCKS = 64

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
    this.#bytes.set(isWhole ? bytes : bytes.subarray(offset, offset + length))
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

/** A block for a payload of up to 1000 bytes, until it is released. */
export function takeBlock(payloadLength: number): PacketBlock {
  const isSmall = payloadLength <= SMALL
  const free = isSmall ? small : large
  if (free.length === 0) fill(free, isSmall ? SMALL : LARGE)
  return free.pop()!
}

export function giveBlock(block: PacketBlock): void {
  const free = block.isSmall ? small : large
  free.push(block)
}

function fill(free: PacketBlock[], bytes: number): void {
  const slab = new Uint8Array(SLAB_BLOCKS * bytes)
  for (let at = 0; at < slab.length; at += bytes) free.push(new PacketBlock(slab.subarray(at, at + bytes)))
}
