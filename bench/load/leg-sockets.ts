import { chooseDatagrams } from '../../media/rtp/datagrams/choose.ts'
import type { Datagrams } from '../../media/rtp/datagrams/datagrams.ts'
import { PortPool } from '../../media/rtp/port-pool.ts'
import { RtpSocket } from '../../media/rtp/rtp-socket.ts'
import { SrtpWire } from '../../media/srtp/srtp-wire.ts'
import type { SrtpKeys } from '../../sip/sdp/sdes.ts'

const HOST = '127.0.0.1'
/** Beside those of the product and of the yardstick in a bench. */
const PORTS = { first: 52_000, last: 65_535 }

/** Where a leg's packets go. */
export interface FarEnd {
  host: string
  rtpPort: number
  rtcpPort: number
  keys: SrtpKeys | null
}

interface Leg {
  socket: RtpSocket
  far: FarEnd | null
  srtp: SrtpWire | null
}

/** The sockets of the legs: a pair for each, as phones have. Over the system's own calls where they work, so that the load is cheap. */
export class LegSockets {
  readonly kind: Datagrams['kind']
  readonly #datagrams: Datagrams
  readonly #legs: Leg[]

  private constructor(datagrams: Datagrams, legs: Leg[]) {
    this.kind = datagrams.kind
    this.#datagrams = datagrams
    this.#legs = legs
  }

  /** @param receive gets RTP, in the clear, and when it came [ms] */
  static async open(
    count: number,
    receive: (leg: number, bytes: Uint8Array, at: number) => void,
    ports = PORTS,
  ): Promise<LegSockets> {
    const { datagrams } = await chooseDatagrams('auto')
    const pool = new PortPool(ports)
    const legs: Leg[] = []
    for (let leg = 0; leg < count; leg++) {
      const socket = await RtpSocket.open(pool, HOST, datagrams)
      if (socket === null) throw new Error('no more ports for the load')
      legs.push({ socket, far: null, srtp: null })
    }
    const sockets = new LegSockets(datagrams, legs)
    for (const [leg, { socket }] of legs.entries()) sockets.#listen(leg, socket, receive)
    return sockets
  }

  #listen(leg: number, socket: RtpSocket, receive: (leg: number, bytes: Uint8Array, at: number) => void): void {
    socket.listen(
      {
        rtp: (datagram, _host, _port, at) => {
          const { srtp } = this.#legs[leg]!
          const bytes = srtp === null ? datagram : srtp.openRtp(datagram)
          if (bytes !== null) receive(leg, bytes, at)
        },
        rtcp: () => {},
      },
      error => {
        throw error
      },
    )
  }

  /** Where a leg receives. */
  portOf(leg: number): number {
    return this.#legs[leg]!.socket.port
  }

  /** From now on the leg sends there. */
  connect(leg: number, far: FarEnd): void {
    const { socket } = this.#legs[leg]!
    this.#legs[leg] = { socket, far, srtp: far.keys === null ? null : new SrtpWire(socket, far.keys) }
  }

  send(leg: number, packet: Uint8Array): void {
    const { socket, far, srtp } = this.#legs[leg]!
    if (far !== null) (srtp ?? socket).sendRtp(packet, packet.length, far.host, far.rtpPort)
  }

  report(leg: number, packet: Uint8Array, length: number): void {
    const { socket, far, srtp } = this.#legs[leg]!
    if (far !== null) (srtp ?? socket).sendRtcp(packet, length, far.host, far.rtcpPort)
  }

  /** Takes what has come, where that does not happen by itself. */
  poll(): void {
    this.#datagrams.poll()
  }

  close(): void {
    for (const { socket } of this.#legs) socket.close()
  }
}
