import { copy } from '../../../codecs/kernels/frames.ts'
import type { ByteSender, Connections, DatagramReceiver, DatagramSocket } from './datagrams.ts'
import { AF_INET, AF_INET6, type Libc, SharedMemory } from './libc.ts'
import { type MessageCalls, NOT_DONE, type OpenCalls } from './message-calls.ts'
import {
  ADDRESS_AT,
  type Family,
  familyAndPort,
  portOf,
  SCOPE_WORD,
  SOCKADDR_BYTES,
  SOCKADDR_WORDS,
} from './sockaddr.ts'

/** One of the sockets of `NativeDatagrams`. */
export class NativeSocket implements DatagramSocket {
  forget: () => void = () => {}
  moved: (slot: number | null) => void = () => {}
  readonly #libc: Libc
  #broke: (error: unknown) => void = () => {}
  /** Source of the last datagram, and destination of the last packet, in the system's form [words]. */
  readonly #from = new Int32Array(SOCKADDR_WORDS)
  readonly #to = new Int32Array(SOCKADDR_WORDS)
  /** Datagrams from before it are not delivered [ms]. */
  #listensSince = 0

  // What each datagram and each packet asks for, beside each other: a socket is not in the cache when its turn comes.

  readonly fd: number
  readonly family: Family
  readonly sockaddrBytes: number
  readonly #outgoing: Outgoing
  #receiver: DatagramReceiver | null = null
  /** No datagram has come since it listens. */
  #isFresh = true
  #isClosed = false
  /** The first words of `#from`: all of an IPv4 address. */
  #fromPortWord = 0
  #fromAddress = 0
  #fromHost = ''
  #fromPort = 0
  /** The same of `#to`. */
  #toPortWord = 0
  #toAddress = 0
  #toHost = ''
  #toPort = -1

  constructor(libc: Libc, outgoing: Outgoing, fd: number, family: Family) {
    this.#libc = libc
    this.#outgoing = outgoing
    this.fd = fd
    this.family = family
    this.sockaddrBytes = SOCKADDR_BYTES[family]
  }

  /** Binds to the address it aims at. */
  bind(): boolean {
    return this.#libc.bind(this.fd, this.#to, this.sockaddrBytes)
  }

  listen(receiver: DatagramReceiver, broke: (error: unknown) => void): void {
    this.#receiver = receiver
    this.#broke = broke
    this.#listensSince = performance.now()
    this.#isFresh = true
  }

  /** @param words contains the sender's address from `nameAt` on */
  take(bytes: Uint8Array, words: Int32Array, nameAt: number, at: number): void {
    if (this.#receiver === null || (this.#isFresh && this.#isTooOld(at))) return
    if (!this.#isFromLast(words, nameAt)) this.#newSource(words, nameAt)
    try {
      this.#receiver.rtp(bytes, this.#fromHost, this.#fromPort, at)
    } catch (error) {
      this.#broke(error)
    }
  }

  #isTooOld(at: number): boolean {
    this.#isFresh = at < this.#listensSince
    return this.#isFresh
  }

  /** Whether the source is that of the previous datagram: the same family, port, address and, for IPv6, flow and scope. */
  #isFromLast(words: Int32Array, nameAt: number): boolean {
    if (words[nameAt] !== this.#fromPortWord || words[nameAt + 1] !== this.#fromAddress) return false
    if (this.family === AF_INET) return true
    const from = this.#from
    for (let i = 2; i < SOCKADDR_WORDS; i++) if (words[nameAt + i] !== from[i]) return false
    return true
  }

  #newSource(words: Int32Array, nameAt: number): void {
    this.#from.set(words.subarray(nameAt, nameAt + this.sockaddrBytes / 4))
    this.#fromPortWord = this.#from[0]!
    this.#fromAddress = this.#from[1]!
    this.#fromPort = portOf(this.#fromPortWord)
    this.#fromHost = this.#libc.readAddress(this.family, this.#from, ADDRESS_AT[this.family])
  }

  send(packet: Uint8Array, length: number, host: string, port: number): void {
    if (this.#isClosed) return
    if (length > packet.length) throw new RangeError(`${length} bytes of a packet of ${packet.length}`)
    const outgoing = this.#outgoing
    if ((host === this.#toHost && port === this.#toPort) || this.aim(host, port)) {
      const beyond = this.family === AF_INET ? null : this.#to
      outgoing.send(this.fd, this.#toPortWord, this.#toAddress, beyond, packet, length)
    } else outgoing.errors++
  }

  /** Sets the destination; false: it is not an address of its family. */
  aim(host: string, port: number): boolean {
    const to = this.#to
    this.#toHost = ''
    if (!this.#libc.writeAddress(this.family, host, to, ADDRESS_AT[this.family])) return false
    to[0] = familyAndPort(this.family, port)
    // A link-local address is reached over the link on which it was received (RFC 4007).
    if (this.family === AF_INET6) to[SCOPE_WORD] = host === this.#fromHost ? this.#from[SCOPE_WORD]! : 0
    this.#toPortWord = to[0]!
    this.#toAddress = to[1]!
    this.#toHost = host
    this.#toPort = port
    return true
  }

  follow(slot: number | null): void {
    if (!this.#isClosed) this.moved(slot)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#receiver = null
    // The descriptor's number may belong to another socket when the rest is sent.
    this.#outgoing.flush()
    this.forget()
    // A closed descriptor leaves the epoll set automatically (epoll(7)).
    this.#libc.close(this.fd)
  }
}

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

  /**
   * Sends the first `length` bytes of a packet, now or with the next `flush`.
   *
   * @param portWord first word of the destination's `sockaddr` @param address the second, which ends that of IPv4
   * @param beyond all words of an IPv6 one; null: it is IPv4
   */
  send(
    fd: number,
    portWord: number,
    address: number,
    beyond: Int32Array | null,
    packet: Uint8Array,
    length: number,
  ): void {
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
    headers[at + NAME_LENGTH] = SOCKADDR_BYTES[beyond === null ? AF_INET : AF_INET6]
    headers[at + LENGTH] = length
    headers[at + NAME] = portWord
    headers[at + NAME + 1] = address
    if (beyond !== null) for (let i = 2; i < SOCKADDR_WORDS; i++) headers[at + NAME + i] = beyond[i]!
    const isWhole = packet.length - length < LITTLE
    copy(this.#packets, isWhole ? packet : packet.subarray(0, length), place * PLACE_BYTES)
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

/** Maximum number of connections that are sent to with one call. */
const CONNECTIONS = 256
/** In a header: the address of the bytes, and their number [words of 4 bytes]. */
const IOV = HEADER.iov / 4

/**
 * The system's own calls for connections. What several of them send in a slot is sent together after it, with one call, so that a process
 * which receives several is woken once.
 */
export class ConnectionCalls implements Connections {
  readonly libc: Libc
  /** Nothing is sent before `flush`. */
  isHeld = false
  readonly #headers: Uint32Array
  readonly #calls: MessageCalls
  /** Senders that wait. */
  readonly #senders: (ByteSender | null)[] = new Array(CONNECTIONS).fill(null)
  #count = 0

  constructor(libc: Libc, openCalls: OpenCalls) {
    this.libc = libc
    const { address, view, bytes } = new SharedMemory(CONNECTIONS * HEADER_BYTES)
    const headers = Array.from({ length: CONNECTIONS }, (_, place) => place * HEADER_BYTES)
    for (const at of headers) {
      view.setBigUint64(at + 16, BigInt(address + at + HEADER.iov), true)
      view.setBigUint64(at + 24, 1n, true)
    }
    this.#headers = new Uint32Array(bytes.buffer)
    this.#calls = openCalls(
      'send',
      headers.map(at => address + at),
    )
  }

  hold(sender: ByteSender): boolean {
    if (!this.isHeld || this.#count === CONNECTIONS) return false
    this.#senders[this.#count++] = sender
    return true
  }

  flush(): void {
    const count = this.#count
    if (count === 0) return
    this.#count = 0
    const { results } = this.#calls
    for (let place = 0; place < count; place++) {
      const sender = this.#senders[place]!
      const { fd } = sender
      results[place] = NOT_DONE
      if (fd < 0) continue
      const { address, length } = sender
      const at = (place * HEADER_BYTES) / 4 + IOV
      this.#headers[at] = address
      this.#headers[at + 1] = address / 2 ** 32
      this.#headers[at + 2] = length
      this.#calls.add(fd, place)
    }
    this.#calls.run()
    for (let place = 0; place < count; place++) {
      const sender = this.#senders[place]!
      this.#senders[place] = null
      sender.taken(results[place]!)
    }
  }
}
