import { SharedMemory } from './libc.ts'
import type { MessageCalls, OpenCalls } from './message-calls.ts'

/** Packets are sent in batches: alternating between kernel and our code would defeat the cache. */
const BATCH = 64
/** A packet of 20 ms needs one place; a longer one several in a row, the longest datagram nearly all [bytes]. */
const PLACE_BYTES = 256
const PLACES = 288
/** The layout of a header: `struct msghdr`, what it points to, and the destination [bytes]. */
const HEADER_BYTES = 128
const HEADER = { iov: 64, name: 80 }
/** In it: the length of the destination, and of the packet [words of 4 bytes]. */
const NAME_LENGTH = 2
const LENGTH = HEADER.iov / 4 + 2
const NAME = HEADER.name / 4
/** Copying this much more is cheaper than making a view of the beginning [bytes]. */
const LITTLE = PLACE_BYTES

/** The memory from which packets are sent. They are copied there, because looking up an address takes longer than a copy. */
export class Outgoing {
  /** Sends that the system refused. */
  errors = 0
  /** Nothing is sent before `flush`, unless the memory is full. */
  isHeld = false
  readonly #memory = new SharedMemory(PLACES * (HEADER_BYTES + PLACE_BYTES))
  readonly #headers = new Int32Array(this.#memory.bytes.buffer, 0, (PLACES * HEADER_BYTES) / 4)
  readonly #packets = new Uint8Array(this.#memory.bytes.buffer, PLACES * HEADER_BYTES)
  readonly #calls: MessageCalls
  /** Of the waiting packets. */
  readonly #places = new Int32Array(BATCH)
  #count = 0
  #nextPlace = 0

  constructor(openCalls: OpenCalls) {
    const { address, view } = this.#memory
    const put = (at: number, value: number): void => view.setBigUint64(at, BigInt(value), true)
    const headers = Array.from({ length: PLACES }, (_, place) => place * HEADER_BYTES)
    for (const [place, at] of headers.entries()) {
      put(at, address + at + HEADER.name)
      put(at + 16, address + at + HEADER.iov)
      put(at + 24, 1)
      put(at + HEADER.iov, address + PLACES * HEADER_BYTES + place * PLACE_BYTES)
    }
    this.#calls = openCalls(
      'send',
      headers.map(at => address + at),
    )
  }

  /** Sends the first `length` bytes of a packet, now or with the next `flush`. */
  send(fd: number, to: Int32Array, sockaddrBytes: number, packet: Uint8Array, length: number): void {
    const places = packet.length <= PLACE_BYTES ? 1 : Math.ceil((length + LITTLE) / PLACE_BYTES)
    if (places > PLACES) {
      this.errors++
      return
    }
    if (this.#count === BATCH || this.#nextPlace + places > PLACES) this.flush()
    const place = this.#nextPlace
    this.#nextPlace = place + places
    const headers = this.#headers
    const at = (place * HEADER_BYTES) / 4
    headers[at + NAME_LENGTH] = sockaddrBytes
    headers[at + LENGTH] = length
    const wordsTo = sockaddrBytes >> 2
    for (let i = 0; i < wordsTo; i++) headers[at + NAME + i] = to[i]!
    const isWhole = packet.length - length < LITTLE
    this.#packets.set(isWhole ? packet : packet.subarray(0, length), place * PLACE_BYTES)
    this.#places[this.#count++] = place
    this.#calls.add(fd, place)
    if (!this.isHeld) this.flush()
  }

  flush(): void {
    const count = this.#count
    if (count === 0) return
    this.#count = 0
    this.#nextPlace = 0
    this.#calls.run()
    const { results } = this.#calls
    for (let number = 0; number < count; number++) if (results[this.#places[number]!]! < 0) this.errors++
  }
}
