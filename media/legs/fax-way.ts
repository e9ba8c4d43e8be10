import { type Described, SourceLatch } from '../rtp/latch.ts'
import type { PacketOut } from '../rtp/packet-out.ts'

/** A UDPTL packet has at least a sequence number and a length (ITU-T T.38 §9.1.1), and fits into an Ethernet frame. */
const LEAST_BYTES = 4
const MOST_BYTES = 1500

/**
 * One leg's half of a T.38 fax: packets of its party go unchanged to the far end of the other half. Permitted sources and destinations are
 * determined as for RTP, with the sequence numbers of UDPTL.
 */
export class FaxWay {
  /** Packets that were relayed. */
  passed = 0
  /** The last packet from either party [ms]: while a page is sent, its receiver is silent. */
  lastAt: number
  readonly #latch = new SourceLatch()
  readonly #out: PacketOut
  #tooOdd = 0
  #other: FaxWay | null = null
  /** The socket of the other half, on another thread; null: it is on this one, or there is none. */
  #relay: { host: string; port: number } | null = null

  constructor(out: PacketOut, now: number) {
    this.#out = out
    this.lastAt = now
  }

  describe(remote: Pick<Described, 'host' | 'port' | 'signallingHost'>): void {
    this.#latch.describe({ ...remote, isReachable: true })
  }

  /** The two halves of one fax. */
  static join(one: FaxWay, other: FaxWay): void {
    one.#relay = other.#relay = null
    one.#other = other
    other.#other = one
  }

  /** The other half is on another thread, and has this socket. Threads share nothing: packets go from one of our sockets to the other. */
  relayTo(socket: { host: string; port: number }): void {
    this.part()
    this.#relay = socket
  }

  /** Stops relaying in both directions. Idempotent. */
  part(): void {
    if (this.#other !== null) this.#other.#other = null
    this.#other = null
    this.#relay = null
  }

  /** Packets from strangers, or that were not UDPTL. */
  get refused(): number {
    return this.#tooOdd + this.#latch.refused
  }

  /** A datagram on the RTP port. */
  receive(datagram: Uint8Array, host: string, port: number, now: number): void {
    const [other, relay] = [this.#other, this.#relay]
    if (datagram.length < LEAST_BYTES || datagram.length > MOST_BYTES) {
      this.#tooOdd++
      return
    }
    if (relay !== null && host === relay.host && port === relay.port) {
      this.lastAt = now
      this.#send(datagram)
      return
    }
    const sequence = (datagram[0]! << 8) | datagram[1]!
    if (!this.#latch.accept(host, port, 0, sequence, now)) return
    this.lastAt = now
    if (relay !== null) {
      this.passed++
      this.#out.sendRtp(datagram, datagram.length, relay.host, relay.port)
    }
    if (other === null) return
    other.lastAt = now
    this.passed++
    other.#send(datagram)
  }

  #send(datagram: Uint8Array): void {
    const { host, port } = this.#latch
    if (port !== 0) this.#out.sendRtp(datagram, datagram.length, host, port)
  }
}
