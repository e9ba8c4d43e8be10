import type { DatagramReceiver, DatagramSocket, Datagrams, TakeDatagram } from './datagrams/datagrams.ts'
import { nodeDatagrams } from './datagrams/node-datagrams.ts'
import type { PacketOut } from './packet-out.ts'
import type { PortPool } from './port-pool.ts'

/** Port pairs to try if other processes use ports of our range. */
const BIND_TRIES = 500

/** Receives the packets of a leg; bytes are borrowed until it returns. */
export interface RtpReceiver extends DatagramReceiver {
  rtcp: TakeDatagram
}

/** The two UDP sockets of one leg: RTP on an even port, RTCP on the next (RFC 3550 §11). */
export class RtpSocket implements PacketOut {
  readonly port: number
  readonly sendRtp: PacketOut['sendRtp']
  readonly sendRtcp: PacketOut['sendRtcp']
  readonly #pool: PortPool
  readonly #rtp: DatagramSocket
  readonly #rtcp: DatagramSocket
  #isClosed = false

  private constructor(pool: PortPool, port: number, rtp: DatagramSocket, rtcp: DatagramSocket) {
    this.#pool = pool
    this.port = port
    this.#rtp = rtp
    this.#rtcp = rtcp
    // Nothing of ours is between a packet and its socket.
    this.sendRtp = rtp.send.bind(rtp)
    this.sendRtcp = rtcp.send.bind(rtcp)
    // Reports are in no hurry: to look for them once per frame is enough.
    rtcp.follow(0)
  }

  /** Opens a pair on `host`, or null when the pool is exhausted. */
  static async open(pool: PortPool, host: string, datagrams: Datagrams = nodeDatagrams): Promise<RtpSocket | null> {
    for (let attempt = 0; attempt < BIND_TRIES; attempt++) {
      const port = pool.allocate()
      if (port === null) return null
      const rtp = await datagrams.bind(host, port)
      const rtcp = rtp === null ? null : await datagrams.bind(host, port + 1)
      if (rtp !== null && rtcp !== null) return new RtpSocket(pool, port, rtp, rtcp)
      rtp?.close()
      pool.release(port)
    }
    return null
  }

  /** Delivers packets from now on; earlier ones are lost. Exceptions of the receiver go to `broke`, not to the socket. */
  listen(receiver: RtpReceiver, broke: (error: unknown) => void): void {
    this.#rtp.listen(receiver, broke)
    this.#rtcp.listen({ rtp: receiver.rtcp.bind(receiver) }, broke)
  }

  /** Packets come with the polls of this slot of the clock; null: with each. */
  follow(slot: number | null): void {
    this.#rtp.follow(slot)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#rtp.close()
    this.#rtcp.close()
    this.#pool.release(this.port)
  }
}
