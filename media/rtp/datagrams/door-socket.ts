import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'

export interface DoorOptions {
  /** An address of ours, never a name. */
  host: string
  port: number
  /** Size of the receive buffer, for what arrives while this thread is busy; the system may allow less [bytes]. */
  receiveBufferBytes: number
  /** Whether to accept a datagram of this host; asked before anything of it is copied. */
  admits: (host: string) => boolean
  /** Receives a datagram, and owns its bytes. */
  take: (bytes: Uint8Array, host: string, port: number) => void
}

/** A UDP socket that strangers can reach: the sender is judged before the content is read. */
export interface DoorSocket {
  /** Datagrams that the system has dropped because they were not fetched in time; 0 if it does not tell. */
  readonly dropped: number
  /** Sends a datagram to an address. `failed`: the system has refused it; called later. */
  send(bytes: Uint8Array, host: string, port: number, failed: () => void): void
  close(): void
}

/** Rejects with the system's error, such as `EADDRINUSE`. */
export type OpenDoor = (options: DoorOptions) => Promise<DoorSocket>

/** Node's socket: each datagram is an event with memory of its own. Works everywhere. */
export const openNodeDoor: OpenDoor = options => {
  const { host, port, receiveBufferBytes } = options
  const family = isIPv6(host) ? 6 : 4
  const socket = createSocket({
    ...(family === 6 ? { type: 'udp6', ipv6Only: true } : { type: 'udp4' }),
    recvBufferSize: receiveBufferBytes,
    // Only addresses are sent to; the default lookup would use the resolver for each datagram.
    lookup: (address, _options, done) => done(null, address, family),
  })
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ address: host, port }, () => {
      socket.off('error', reject)
      resolve(new NodeDoor(socket, options))
    })
  })
}

class NodeDoor implements DoorSocket {
  readonly dropped = 0
  readonly #socket: Socket
  #isClosed = false

  constructor(socket: Socket, { admits, take }: DoorOptions) {
    this.#socket = socket
    // ICMP errors of far ends appear here, and are ignored.
    socket.on('error', () => {})
    socket.on('message', (bytes, { address, port }) => {
      if (admits(address)) take(bytes, address, port)
    })
  }

  send(bytes: Uint8Array, host: string, port: number, failed: () => void): void {
    if (this.#isClosed) return
    this.#socket.send(bytes, port, host, error => {
      if (error !== null) failed()
    })
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#socket.close()
  }
}
