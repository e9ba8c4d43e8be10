import { createSocket, type Socket } from 'node:dgram'

const HOST = '127.0.0.1'

/** A network between somebody and a port: what both send passes through it, as far as it is not lost, until it is cut. */
export class UdpRelay {
  isCut = false
  readonly #sockets: Socket[] = []
  readonly #passes: (bytes: Buffer) => Buffer | null

  /** @param passes what becomes of a packet, of either direction; null: it is lost */
  constructor(passes: (bytes: Buffer) => Buffer | null = bytes => bytes) {
    this.#passes = passes
  }

  /** The port by which this one is reached. */
  async before(port: number): Promise<number> {
    const [front, back] = await Promise.all([open(), open()])
    this.#sockets.push(front, back)
    let client: { address: string; port: number } | null = null
    front.on('message', (bytes, from) => {
      client = from
      const passed = this.isCut ? null : this.#passes(bytes)
      if (passed !== null) back.send(passed, port, HOST)
    })
    back.on('message', bytes => {
      const passed = this.isCut ? null : this.#passes(bytes)
      if (passed !== null && client !== null) front.send(passed, client.port, client.address)
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
