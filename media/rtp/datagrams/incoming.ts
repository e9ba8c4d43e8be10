import { SharedMemory, SO_TIMESTAMPNS } from './libc.ts'
import type { MessageCalls, OpenCalls } from './message-calls.ts'

/** Fetched one after the other before any is delivered: alternating between kernel and our code would defeat the cache. */
const BATCH = 64
/** No datagram is larger. Every length is passed on to the receiver [bytes]. */
const MAX_DATAGRAM = 65_536
/** Longer datagrams continue elsewhere; audio never needs that memory, so it is never touched [bytes]. */
const ROOM = 2048
const REST_BYTES = MAX_DATAGRAM - ROOM
/** An older timestamp was taken before the clock was set [ms]. */
const MAX_AGE_MS = 5000

/** The layout of a place: `struct msghdr`, what it points to, and the datagram. */
const PLACE = { name: 64, iov: 96, control: 128, payload: 192 }
/** An odd number of cache lines, so that places do not share a few cache sets. */
const PLACE_BYTES = PLACE.payload + ROOM
const PLACE_WORDS = PLACE_BYTES / 4
/** In the message header: lengths that are set before and read after [words of 4 bytes]. */
const NAME_LENGTH = 2
const CONTROL_LENGTH = 10
/** Of the control message, with one `struct timespec`. */
const CONTROL_BYTES = 32
const CONTROL_TYPE = PLACE.control / 4 + 3
const SECONDS = PLACE.control / 4 + 4
const NANOSECONDS = PLACE.control / 4 + 6

/** The memory in which datagrams are received. */
export class Incoming {
  /** Number of sockets to fetch from, or of fetched datagrams that are not taken yet. */
  count = 0
  /** `sockaddr` of each sender, from `nameAt` on. */
  readonly words: Int32Array
  readonly #memory = new SharedMemory(BATCH * (PLACE_BYTES + REST_BYTES))
  readonly #calls: MessageCalls
  /** The datagram of each place. */
  readonly #views: Uint8Array[]

  constructor(openCalls: OpenCalls) {
    this.words = new Int32Array(this.#memory.bytes.buffer, 0, BATCH * PLACE_WORDS)
    this.#views = Array.from({ length: BATCH }, (_, place) => this.#roomOf(place, 0))
    const headers = Array.from({ length: BATCH }, (_, place) => this.#point(place))
    this.#calls = openCalls('receive', headers)
  }

  /** Writes what never changes: the addresses of its parts. @returns that of its header */
  #point(place: number): number {
    const { view, address } = this.#memory
    const at = place * PLACE_BYTES
    const put = (offset: number, value: number): void => view.setBigUint64(at + offset, BigInt(value), true)
    put(0, address + at + PLACE.name)
    put(16, address + at + PLACE.iov)
    put(24, 2)
    put(32, address + at + PLACE.control)
    put(PLACE.iov, address + at + PLACE.payload)
    put(PLACE.iov + 8, ROOM)
    put(PLACE.iov + 16, address + restAt(place))
    put(PLACE.iov + 24, REST_BYTES)
    return address + at
  }

  get isFull(): boolean {
    return this.count === BATCH
  }

  /** Adds a socket to fetch a datagram from, into the next place. */
  add(fd: number, sockaddrBytes: number): void {
    const place = this.count++
    const at = place * PLACE_WORDS
    this.words[at + NAME_LENGTH] = sockaddrBytes
    this.words[at + CONTROL_LENGTH] = CONTROL_BYTES
    this.#calls.add(fd, place)
  }

  /** Fetches from all of them. */
  fetch(): void {
    this.#calls.run()
  }

  /** Whether there was a datagram for this place. */
  has(place: number): boolean {
    return this.#calls.results[place]! >= 0
  }

  #viewOf(place: number, length: number): Uint8Array {
    if (length <= ROOM) return this.#roomOf(place, length)
    const rest = restAt(place)
    return Buffer.concat([this.#roomOf(place, ROOM), this.#memory.bytes.subarray(rest, rest + length - ROOM)])
  }

  #roomOf(place: number, length: number): Uint8Array {
    const at = place * PLACE_BYTES + PLACE.payload
    return this.#memory.bytes.subarray(at, at + length)
  }

  /** The datagram of a place, valid until another one is fetched there. */
  bytes(place: number): Uint8Array {
    const length = this.#calls.results[place]!
    const view = this.#views[place]!
    // Packets have similar lengths, so the last view often fits the next packet.
    if (view.length === length && length <= ROOM) return view
    this.#views[place] = this.#viewOf(place, length)
    return this.#views[place]
  }

  /** The start of the sender's address [words]. */
  nameAt(place: number): number {
    return place * PLACE_WORDS + PLACE.name / 4
  }

  /** How long before `seconds`, `nanoseconds` of the wall clock it arrived [ms]. */
  age(place: number, seconds: number, nanoseconds: number): number {
    const { words } = this
    const at = place * PLACE_WORDS
    if (words[at + CONTROL_LENGTH]! < CONTROL_BYTES || words[at + CONTROL_TYPE] !== SO_TIMESTAMPNS) return 0
    const age = ((seconds - words[at + SECONDS]!) | 0) * 1000 + (nanoseconds - words[at + NANOSECONDS]!) / 1e6
    return age > 0 && age < MAX_AGE_MS ? age : 0
  }
}

/** Where a long datagram of this place continues [bytes]. */
const restAt = (place: number): number => BATCH * PLACE_BYTES + place * REST_BYTES
