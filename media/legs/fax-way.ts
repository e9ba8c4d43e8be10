import { type Described, SourceLatch } from '../rtp/latch.ts'
import type { PacketOut } from '../rtp/packet-out.ts'

/** A UDPTL packet holds a sequence number and a length at least (ITU-T T.38 §9.1.1), and fits into one of Ethernet. */
const LEAST_BYTES = 4
const MOST_BYTES = 1500

/**
 * A leg's half of a fax by T.38: what its party sends goes to the far end of the other half, as it is. Who may send, and where to, is
 * judged as for RTP, by the sequence numbers of UDPTL.
 */
export class FaxWay {
  /** Packets that were passed on. */
  passed = 0
  /** When something came from either party last [ms]: while a page is sent, its receiver is silent. */
  lastAt: number
  readonly #latch = new SourceLatch()
  readonly #out: PacketOut
  #tooOdd = 0
  #other: FaxWay | null = null

  constructor(out: PacketOut, now: number) {
    this.#out = out
    this.lastAt = now
  }

  describe(remote: Pick<Described, 'host' | 'port' | 'signallingHost'>): void {
    this.#latch.describe({ ...remote, isReachable: true })
  }

  /** The two halves of one fax. */
  static join(one: FaxWay, other: FaxWay): void {
    one.#other = other
    other.#other = one
  }

  /** From now on nothing passes, either way. Idempotent. */
  part(): void {
    if (this.#other !== null) this.#other.#other = null
    this.#other = null
  }

  get isJoined(): boolean {
    return this.#other !== null
  }

  /** Packets that were not its party's, or no UDPTL. */
  get refused(): number {
    return this.#tooOdd + this.#latch.refused
  }

  /** A datagram on the RTP port. */
  receive(datagram: Uint8Array, host: string, port: number, now: number): void {
    const other = this.#other
    if (datagram.length < LEAST_BYTES || datagram.length > MOST_BYTES) {
      this.#tooOdd++
      return
    }
    const sequence = (datagram[0]! << 8) | datagram[1]!
    if (!this.#latch.accept(host, port, 0, sequence, now)) return
    this.lastAt = now
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
