import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'

export interface DoorOptions {
  /** An address of ours, never a name. */
  host: string
  port: number
  /** What comes while this thread does something else waits there; the system may allow less [bytes]. */
  receiveBufferBytes: number
  /** Whether a datagram of this host is looked at: asked before anything of it is kept. */
  admits: (host: string) => boolean
  /** Takes a datagram, whose bytes are its own from then on. */
  take: (bytes: Uint8Array, host: string, port: number) => void
}

/** A UDP socket that strangers know: who sends is judged before what is sent. */
export interface DoorSocket {
  /** Datagrams that the system has dropped, since nobody fetched those before in time; 0 where it does not tell. */
  readonly dropped: number
  /** Sends a datagram to an address. `failed`: the system has refused it; called later. */
  send(bytes: Uint8Array, host: string, port: number, failed: () => void): void
  close(): void
}

/** Rejects with the system's error, as `EADDRINUSE`. */
export type OpenDoor = (options: DoorOptions) => Promise<DoorSocket>

/** Node's socket: each datagram is an event and has memory of its own. It works everywhere. */
export const openNodeDoor: OpenDoor = options => {
  const { host, port, receiveBufferBytes } = options
  const family = isIPv6(host) ? 6 : 4
  const socket = createSocket({
    ...(family === 6 ? { type: 'udp6', ipv6Only: true } : { type: 'udp4' }),
    recvBufferSize: receiveBufferBytes,
    // Only addresses arrive here; the default would use the resolver for each datagram.
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
    // What a far end's ICMP says is told to whoever sends; here nobody asks.
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
