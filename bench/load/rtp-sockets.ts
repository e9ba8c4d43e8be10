import { createSocket, type Socket } from 'node:dgram'

const HOST = '127.0.0.1'
/** The legs share sockets, so that the load costs less than what it measures; the far end sees a port per 20 legs. */
const LEGS_PER_SOCKET = 20
const BUFFER_BYTES = 4 * 1024 * 1024

/** The UDP sockets of the load. What comes back is told apart by the far end's port, which is one per leg. */
export class RtpSockets {
  readonly #sockets: Socket[]
  readonly #ports: Uint16Array
  readonly #legOf = new Int32Array(65_536).fill(-1)

  private constructor(sockets: Socket[], legs: number, receive: (leg: number, bytes: Uint8Array) => void) {
    this.#sockets = sockets
    this.#ports = new Uint16Array(legs)
    for (const socket of sockets) {
      socket.on('message', (bytes, from) => {
        const leg = this.#legOf[from.port]!
        if (leg >= 0) receive(leg, bytes)
      })
    }
  }

  static async open(legs: number, receive: (leg: number, bytes: Uint8Array) => void): Promise<RtpSockets> {
    const sockets: Socket[] = []
    for (let first = 0; first < legs; first += LEGS_PER_SOCKET) {
      const socket = createSocket({
        type: 'udp4',
        recvBufferSize: BUFFER_BYTES,
        sendBufferSize: BUFFER_BYTES,
        // Only addresses come here; the default would go through the resolver for each packet.
        lookup: (address, _options, callback) => callback(null, address, 4),
      })
      await new Promise<void>(bound => socket.bind(0, HOST, bound))
      sockets.push(socket)
    }
    return new RtpSockets(sockets, legs, receive)
  }

  #socketOf(leg: number): Socket {
    return this.#sockets[Math.floor(leg / LEGS_PER_SOCKET)]!
  }

  /** Where a leg receives. */
  portOf(leg: number): number {
    return this.#socketOf(leg).address().port
  }

  /** From now on the leg sends to this port of 127.0.0.1. */
  connect(leg: number, port: number): void {
    this.#ports[leg] = port
    this.#legOf[port] = leg
  }

  send(leg: number, packet: Uint8Array): void {
    this.#socketOf(leg).send(packet, this.#ports[leg]!, HOST)
  }

  close(): void {
    for (const socket of this.#sockets) socket.close()
  }
}
