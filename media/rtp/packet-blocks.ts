/** Size of a packet of up to 20 ms with its header, and of the longest payload [bytes]. */
const SMALL = 256
const LARGE = 1024
/** Blocks allocated at once. */
const SLAB_BLOCKS = 64

/** Space for one packet. */
export class PacketBlock {
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

/** Free blocks. The last one is used next, because it is in the cache. A stream that ends keeps the blocks it holds. */
const small: PacketBlock[] = []
const large: PacketBlock[] = []

/** The blocks of this thread, shared by all streams, since a steady stream holds only one or two packets. */
export const packetBlocks = {
  /** A block for a payload of up to 1000 bytes, until it is released. */
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
