import { chooseDatagrams } from '../../media/rtp/datagrams/choose.ts'
import type { DatagramSocket, Datagrams, TakeDatagram } from '../../media/rtp/datagrams/datagrams.ts'
import type { PacketOut } from '../../media/rtp/packet-out.ts'
import { SrtpWire } from '../../media/srtp/srtp-wire.ts'
import { type FarEnd, Wires } from './wires.ts'

const HOST = '127.0.0.1'
/** Apart from the ports that the product and the yardstick use in a bench. */
const PORTS = { first: 52_000, last: 65_535 }

/** The descriptors of a leg's sockets. */
export interface Descriptors {
  rtp: number
  rtcp: number
}

/** A leg receives RTP at an even port, and RTCP at the next one. */
interface Leg {
  port: number
  rtp: DatagramSocket
  rtcp: DatagramSocket
  out: PacketOut
  /** Decrypts received packets; null: the call is not encrypted. */
  srtp: SrtpWire | null
}

/** A pair of sockets for each leg, as phones have: native ones (`media/rtp/datagrams`) where the system allows them, to save CPU. */
export class LegSockets {
  /** Of each leg, so that another thread can send by its sockets; null: these are Node's sockets. */
  readonly descriptors: readonly Descriptors[] | null
  readonly #datagrams: Datagrams
  readonly #legs: readonly Leg[]
  readonly #wires = new Wires()

  private constructor(datagrams: Datagrams, legs: readonly Leg[]) {
    this.#datagrams = datagrams
    this.#legs = legs
    const descriptors = legs.map(({ rtp, rtcp }) => ({ rtp: descriptorOf(rtp), rtcp: descriptorOf(rtcp) }))
    this.descriptors = descriptors.every(isComplete) ? descriptors : null
  }

  /** @param receive gets each RTP packet, decrypted, and when it arrived [ms] */
  static async open(count: number, receive: (leg: number, bytes: Uint8Array, at: number) => void): Promise<LegSockets> {
    const { datagrams } = await chooseDatagrams('auto')
    const legs: Leg[] = []
    for (let port = PORTS.first; legs.length < count; port += 2) {
      if (port >= PORTS.last) throw new Error('no more ports for the load')
      const rtp = await datagrams.bind(HOST, port)
      const rtcp = rtp === null ? null : await datagrams.bind(HOST, port + 1)
      if (rtp === null || rtcp === null) rtp?.close()
      else
        legs.push({ port, rtp, rtcp, out: { sendRtp: rtp.send.bind(rtp), sendRtcp: rtcp.send.bind(rtcp) }, srtp: null })
    }
    for (const [number, leg] of legs.entries()) listen(leg, (bytes, at) => receive(number, bytes, at))
    return new LegSockets(datagrams, legs)
  }

  /** The port at which a leg receives RTP. */
  portOf(leg: number): number {
    return this.#legs[leg]!.port
  }

  /** Sets where the leg sends to. */
  connect(leg: number, far: FarEnd): void {
    const at = this.#legs[leg]!
    at.srtp = far.keys === null ? null : new SrtpWire(at.out, far.keys)
    this.#wires.connect(leg, far, at.out)
  }

  send(leg: number, packet: Uint8Array): void {
    this.#wires.send(leg, packet)
  }

  report(leg: number, packet: Uint8Array, length: number): void {
    this.#wires.report(leg, packet, length)
  }

  /** Runs `work`, whose packets may leave together at its end. */
  together(work: () => void): void {
    this.#datagrams.sendTogether(work)
  }

  /** Receives what has arrived; native sockets need that. */
  poll(): void {
    this.#datagrams.poll()
  }

  close(): void {
    for (const { rtp, rtcp } of this.#legs) {
      rtp.close()
      rtcp.close()
    }
  }
}

function listen(leg: Leg, receive: (bytes: Uint8Array, at: number) => void): void {
  const fail = (error: unknown): never => {
    throw error
  }
  const rtp: TakeDatagram = (datagram, _host, _port, at) => {
    const bytes = leg.srtp === null ? datagram : leg.srtp.openRtp(datagram)
    if (bytes !== null) receive(bytes, at)
  }
  leg.rtp.listen({ rtp }, fail)
  leg.rtcp.listen({ rtp: () => {} }, fail)
}

const descriptorOf = (socket: DatagramSocket): number | null =>
  'fd' in socket && typeof socket.fd === 'number' ? socket.fd : null

const isComplete = (pair: { rtp: number | null; rtcp: number | null }): pair is Descriptors =>
  pair.rtp !== null && pair.rtcp !== null
