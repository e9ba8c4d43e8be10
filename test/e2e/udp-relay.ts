import { createSocket, type Socket } from 'node:dgram'

const HOST = '127.0.0.1'

/** A network between a browser and a port of ours: what both send passes through it, until it is cut. */
export class UdpRelay {
  isCut = false
  readonly #sockets: Socket[] = []

  /** The port by which this one is reached. */
  async before(port: number): Promise<number> {
    const [front, back] = await Promise.all([open(), open()])
    this.#sockets.push(front, back)
    let client: { address: string; port: number } | null = null
    front.on('message', (bytes, from) => {
      client = from
      if (!this.isCut) back.send(bytes, port, HOST)
    })
    back.on('message', bytes => {
      if (!this.isCut && client !== null) front.send(bytes, client.port, client.address)
    })
    return front.address().port
  }

  close(): void {
    for (const socket of this.#sockets.splice(0)) socket.close()
  }
}

async function open(): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.on('error', () => {})
  await new Promise<void>(resolve => socket.bind(0, HOST, resolve))
  return socket
}
