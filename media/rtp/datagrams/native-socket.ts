import type { DatagramSocket, TakeDatagram } from './datagrams.ts'
import { AF_INET, AF_INET6, type Libc } from './libc.ts'
import type { Outgoing } from './outgoing.ts'
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
  readonly fd: number
  readonly family: Family
  readonly sockaddrBytes: number
  readonly #libc: Libc
  readonly #outgoing: Outgoing
  /** Destination of the last packet, in the system's form [words]. */
  readonly #to = new Int32Array(SOCKADDR_WORDS)
  #toHost = ''
  #toPort = -1
  /** Source of the last datagram, in the same form. */
  readonly #from = new Int32Array(SOCKADDR_WORDS)
  #fromHost = ''
  #fromPort = 0
  #take: TakeDatagram | null = null
  #broke: (error: unknown) => void = () => {}
  #listensSince = 0
  #isClosed = false

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

  listen(take: TakeDatagram, broke: (error: unknown) => void): void {
    this.#take = take
    this.#broke = broke
    this.#listensSince = performance.now()
  }

  /** @param words contains the sender's address from `nameAt` on */
  take(bytes: Uint8Array, words: Int32Array, nameAt: number, at: number): void {
    if (this.#take === null || at < this.#listensSince) return
    if (!this.#isFromLast(words, nameAt)) this.#newSource(words, nameAt)
    try {
      this.#take(bytes, this.#fromHost, this.#fromPort, at)
    } catch (error) {
      this.#broke(error)
    }
  }

  /** Whether the source is that of the previous datagram: the same family, port, address and, for IPv6, flow and scope. */
  #isFromLast(words: Int32Array, nameAt: number): boolean {
    const from = this.#from
    if (words[nameAt] !== from[0] || words[nameAt + 1] !== from[1]) return false
    if (this.family === AF_INET) return true
    for (let i = 2; i < SOCKADDR_WORDS; i++) if (words[nameAt + i] !== from[i]) return false
    return true
  }

  #newSource(words: Int32Array, nameAt: number): void {
    this.#from.set(words.subarray(nameAt, nameAt + this.sockaddrBytes / 4))
    this.#fromPort = portOf(this.#from)
    this.#fromHost = this.#libc.readAddress(this.family, this.#from, ADDRESS_AT[this.family])
  }

  send(packet: Uint8Array, length: number, host: string, port: number): void {
    if (this.#isClosed) return
    if (length > packet.length) throw new RangeError(`${length} bytes of a packet of ${packet.length}`)
    const outgoing = this.#outgoing
    if ((host === this.#toHost && port === this.#toPort) || this.aim(host, port)) {
      outgoing.send(this.fd, this.#to, this.sockaddrBytes, packet, length)
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
    this.#toHost = host
    this.#toPort = port
    return true
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#take = null
    // The descriptor's number may belong to another socket when the rest is sent.
    this.#outgoing.flush()
    this.forget()
    // A closed descriptor leaves the epoll set automatically (epoll(7)).
    this.#libc.close(this.fd)
  }
}
