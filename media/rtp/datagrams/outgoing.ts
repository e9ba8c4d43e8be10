import { type Libc, MSG_DONTWAIT, SharedMemory } from './libc.ts'

/** Sent in batches, for the same reason as in receiving. */
const BATCH = 64
/** Twice the largest packet [bytes]. */
const MEMORY_BYTES = 128 * 1024
/** Offset of a packet behind its destination address, and alignment of its start [bytes]. */
const PACKET_AT = 32
const LINE = 64
/** Copying this much more is cheaper than making a view of the beginning [bytes]. */
const LITTLE = 512

/** The memory from which packets are sent. They are copied there, because looking up an address takes longer than a copy. */
export class Outgoing {
  /** Sends that the system refused. */
  errors = 0
  /** Nothing is sent before `flush`, unless the memory is full. */
  isHeld = false
  readonly #libc: Libc
  readonly #memory = new SharedMemory(MEMORY_BYTES)
  readonly #words = new Int32Array(this.#memory.bytes.buffer)
  /** For each waiting packet: its socket, its position, the length of its address and its own. */
  readonly #fds = new Int32Array(BATCH)
  readonly #places = new Int32Array(BATCH)
  readonly #sockaddrLengths = new Int32Array(BATCH)
  readonly #lengths = new Int32Array(BATCH)
  #count = 0
  #end = 0

  constructor(libc: Libc) {
    this.#libc = libc
  }

  /** Sends the first `length` bytes of a packet, now or with the next `flush`. */
  send(fd: number, to: Int32Array, sockaddrBytes: number, packet: Uint8Array, length: number): void {
    if (this.#count === BATCH || this.#end + PACKET_AT + packet.length > MEMORY_BYTES) this.flush()
    const place = this.#end
    const words = this.#words
    const wordsTo = sockaddrBytes >> 2
    for (let i = 0; i < wordsTo; i++) words[(place >> 2) + i] = to[i]!
    this.#copy(packet, length, place + PACKET_AT)
    const number = this.#count++
    this.#fds[number] = fd
    this.#places[number] = place
    this.#sockaddrLengths[number] = sockaddrBytes
    this.#lengths[number] = length
    this.#end = (place + PACKET_AT + length + LINE - 1) & -LINE
    if (!this.isHeld) this.flush()
  }

  #copy(packet: Uint8Array, length: number, at: number): void {
    const { bytes } = this.#memory
    bytes.set(packet.length - length < LITTLE ? packet : packet.subarray(0, length), at)
  }

  flush(): void {
    const count = this.#count
    const { address } = this.#memory
    for (let number = 0; number < count; number++) {
      const at = address + this.#places[number]!
      const length = this.#lengths[number]!
      const bytes = this.#sockaddrLengths[number]!
      if (this.#libc.sendto(this.#fds[number]!, at + PACKET_AT, length, MSG_DONTWAIT, at, bytes) < 0) this.errors++
    }
    this.#count = 0
    this.#end = 0
  }
}
