/** A packet of up to 20 ms, with its header; and the longest payload that is kept [bytes]. */
const SMALL = 256
const LARGE = 1024
/** Blocks are made so many at a time. */
const SLAB_BLOCKS = 64

/** A place for one packet. */
export class PacketBlock {
  /** The payload that is kept. */
  payload: Uint8Array
  readonly #bytes: Uint8Array
  #offset = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.payload = bytes
  }

  /** Copies a payload in. Where the packet fits it is copied as it is, since a view of a part of it costs more than what is copied too much. */
  keep(bytes: Uint8Array, offset: number, length: number): void {
    const isWhole = bytes.length <= this.#bytes.length
    this.#bytes.set(isWhole ? bytes : bytes.subarray(offset, offset + length))
    const at = isWhole ? offset : 0
    // Packets of a stream are alike, and so the view of the last one fits the next.
    if (this.#offset === at && this.payload.length === length) return
    this.#offset = at
    this.payload = this.#bytes.subarray(at, at + length)
  }

  get isSmall(): boolean {
    return this.#bytes.length === SMALL
  }
}

/** Blocks that nobody uses; the last is the next to be used, as it is in the cache. A stream that ends with some of them takes them with it. */
const small: PacketBlock[] = []
const large: PacketBlock[] = []

/** The blocks of this thread: all streams share them, as a calm one holds a packet or two. */
export const packetBlocks = {
  /** A block for a payload of up to 1000 bytes, until it is given back. */
  take(payloadLength: number): PacketBlock {
    const isSmall = payloadLength <= SMALL
    const free = isSmall ? small : large
    if (free.length === 0) fill(free, isSmall ? SMALL : LARGE)
    return free.pop()!
  },
  give(block: PacketBlock): void {
    const free = block.isSmall ? small : large
    free.push(block)
  },
}

function fill(free: PacketBlock[], bytes: number): void {
  const slab = new Uint8Array(SLAB_BLOCKS * bytes)
  for (let at = 0; at < slab.length; at += bytes) free.push(new PacketBlock(slab.subarray(at, at + bytes)))
}
