import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { PortPool } from './port-pool.ts'

/** How many port pairs are tried when others hold ports of our range. */
const BIND_TRIES = 500

export interface RtpReceiver {
  rtp(bytes: Uint8Array, host: string, port: number): void
  rtcp(bytes: Uint8Array, host: string, port: number): void
}

/** The two UDP sockets of one leg: RTP on an even port, RTCP on the next (RFC 3550 §11). */
export class RtpSocket {
  readonly port: number
  /** Sends that the kernel refused. */
  sendErrors = 0
  readonly #pool: PortPool
  readonly #rtp: Socket
  readonly #rtcp: Socket
  #closed = false

  private constructor(pool: PortPool, port: number, rtp: Socket, rtcp: Socket) {
    this.#pool = pool
    this.port = port
    this.#rtp = rtp
    this.#rtcp = rtcp
    // An ICMP error of the far end arrives here as an error event; the leg's time-out deals with a dead peer.
    rtp.on('error', () => this.sendErrors++)
    rtcp.on('error', () => this.sendErrors++)
  }

  /** Opens a pair on `host`, or null when the pool is exhausted. */
  static async open(pool: PortPool, host: string): Promise<RtpSocket | null> {
    for (let attempt = 0; attempt < BIND_TRIES; attempt++) {
      const port = pool.allocate()
      if (port === null) return null
      const rtp = await bind(host, port)
      const rtcp = rtp === null ? null : await bind(host, port + 1)
      if (rtp !== null && rtcp !== null) return new RtpSocket(pool, port, rtp, rtcp)
      rtp?.close()
      pool.release(port)
    }
    return null
  }

  /** From now on packets go to the receiver; those that came before are lost. */
  listen(receiver: RtpReceiver): void {
    this.#rtp.on('message', (bytes: Uint8Array, from: RemoteInfo) => receiver.rtp(bytes, from.address, from.port))
    this.#rtcp.on('message', (bytes: Uint8Array, from: RemoteInfo) => receiver.rtcp(bytes, from.address, from.port))
  }

  sendRtp(packet: Uint8Array, length: number, host: string, port: number): void {
    if (this.#closed) return
    // Audio fills its buffer, and given whole it is sent without allocating a view of it.
    if (length === packet.length) this.#rtp.send(packet, port, host)
    else this.#rtp.send(packet, 0, length, port, host)
  }

  sendRtcp(packet: Uint8Array, length: number, host: string, port: number): void {
    if (!this.#closed) this.#rtcp.send(packet, 0, length, port, host)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#rtp.close()
    this.#rtcp.close()
    this.#pool.release(this.port)
  }
}

function bind(host: string, port: number): Promise<Socket | null> {
  const family = isIPv6(host) ? 6 : 4
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    // Only addresses come here; the default would go through the resolver for each packet.
    lookup: (address, _options, callback) => callback(null, address, family),
  })
  return new Promise(resolve => {
    socket.once('error', () => {
      socket.close()
      resolve(null)
    })
    socket.bind({ address: host, port, exclusive: true }, () => {
      socket.removeAllListeners('error')
      resolve(socket)
    })
  })
}
