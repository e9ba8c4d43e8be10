import { chooseDatagrams } from '../../media/rtp/datagrams/choose.ts'
import type { DatagramSocket, Datagrams } from '../../media/rtp/datagrams/datagrams.ts'
import type { PacketOut } from '../../media/rtp/packet-out.ts'
import { SrtpWire } from '../../media/srtp/srtp-wire.ts'
import { type FarEnd, Wires } from './wires.ts'

const HOST = '127.0.0.1'
/** Beside those of the product and of the yardstick in a bench. */
const PORTS = { first: 52_000, last: 65_535 }

/** The descriptors of a leg's sockets. */
export interface Descriptors {
  rtp: number
  rtcp: number
}

/** RTP on an even port, RTCP on the next. */
interface Leg {
  port: number
  rtp: DatagramSocket
  rtcp: DatagramSocket
  out: PacketOut
  /** Opens what comes, if the call is encrypted. */
  srtp: SrtpWire | null
}

/** The sockets of the legs: a pair for each, as phones have. Over the system's own calls where they work, so that the load is cheap. */
export class LegSockets {
  /** Of each leg, if they are the system's own: another thread may send by them. */
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

  /** @param receive gets RTP, in the clear, and when it came [ms] */
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

  /** Where a leg receives. */
  portOf(leg: number): number {
    return this.#legs[leg]!.port
  }

  /** From now on the leg sends there. */
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

  /** What is sent during `work` may leave at its end. */
  together(work: () => void): void {
    this.#datagrams.sendTogether(work)
  }

  /** Takes what has come, where that does not happen by itself. */
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
  leg.rtp.listen((datagram, _host, _port, at) => {
    const bytes = leg.srtp === null ? datagram : leg.srtp.openRtp(datagram)
    if (bytes !== null) receive(bytes, at)
  }, fail)
  leg.rtcp.listen(() => {}, fail)
}

const descriptorOf = (socket: DatagramSocket): number | null =>
  'fd' in socket && typeof socket.fd === 'number' ? socket.fd : null

const isComplete = (pair: { rtp: number | null; rtcp: number | null }): pair is Descriptors =>
  pair.rtp !== null && pair.rtcp !== null
