import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { DatagramReceiver, DatagramSocket, Datagrams } from './datagrams.ts'

/** Node's sockets: each packet is an event. They work everywhere. */
export const nodeDatagrams: Datagrams & { sendErrors: number } = {
  kind: 'node',
  calls: null,
  connections: null,
  sendErrors: 0,
  bind: async (host, port) => {
    const socket = await bind(host, port)
    return socket === null ? null : new NodeSocket(socket)
  },
  poll: () => {},
  attend: () => {},
  sendTogether: work => work(),
}

class NodeSocket implements DatagramSocket {
  readonly #socket: Socket
  #isClosed = false

  constructor(socket: Socket) {
    this.#socket = socket
    // An ICMP error of the far end arrives as an error event; the leg's time-out handles a dead peer.
    socket.on('error', () => nodeDatagrams.sendErrors++)
  }

  listen(receiver: DatagramReceiver, broke: (error: unknown) => void): void {
    this.#socket.on('message', (bytes: Uint8Array, { address, port }: RemoteInfo) => {
      try {
        receiver.rtp(bytes, address, port, performance.now())
      } catch (error) {
        broke(error)
      }
    })
  }

  send(packet: Uint8Array, length: number, host: string, port: number): void {
    if (this.#isClosed) return
    // Audio fills its buffer. Sending the whole buffer needs no view of it.
    if (length === packet.length) this.#socket.send(packet, port, host)
    else this.#socket.send(packet, 0, length, port, host)
  }

  follow(): void {}

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#socket.close()
  }
}

function bind(host: string, port: number): Promise<Socket | null> {
  const family = isIPv6(host) ? 6 : 4
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    // Only addresses arrive here; the default would use the resolver for each packet.
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
