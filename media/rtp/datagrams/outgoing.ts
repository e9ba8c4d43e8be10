import { type Libc, MSG_DONTWAIT, SharedMemory } from './libc.ts'

/** Sent one after the other, for the same reason as they are fetched so. */
const BATCH = 64
/** Twice the largest packet [bytes]. */
const MEMORY_BYTES = 128 * 1024
/** Where a packet lies behind the address that it goes to, and what it begins at multiples of [bytes]. */
const PACKET_AT = 32
const LINE = 64
/** So much more is copied sooner than a view of the beginning is made [bytes]. */
const LITTLE = 512

/** The memory that packets are sent from: they are copied there, as to ask where one lies takes longer than to copy it. */
export class Outgoing {
  /** Sends that the system refused. */
  errors = 0
  /** Nothing is sent before `flush`, but for want of room. */
  isHeld = false
  readonly #libc: Libc
  readonly #memory = new SharedMemory(MEMORY_BYTES)
  readonly #words = new Int32Array(this.#memory.bytes.buffer)
  /** Of each that waits: its socket, where it lies, the length of its address and its own. */
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
