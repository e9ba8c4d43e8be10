import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'

/** Changes a packet; null: it is lost. */
type PassesPacket = (bytes: Buffer, isOfClient: boolean) => Buffer | null

/** A network between a client and a port: passes on what both send, unless it loses a packet or is cut. */
export class UdpRelay {
  isCut = false
  readonly #sockets: Socket[] = []
  /** From where the last opened port sends on what the client sends. */
  behind = 0
  readonly #passes: PassesPacket
  readonly #host: string

  /** @param host address of client, relay and port */
  constructor(passes: PassesPacket = bytes => bytes, host = '127.0.0.1') {
    this.#passes = passes
    this.#host = host
  }

  /** Opens a port that leads to this one. */
  async before(port: number): Promise<number> {
    const [front, back] = await Promise.all([open(this.#host), open(this.#host)])
    this.#sockets.push(front, back)
    this.behind = back.address().port
    let client: { address: string; port: number } | null = null
    front.on('message', (bytes, from) => {
      client = from
      const passed = this.isCut ? null : this.#passes(bytes, true)
      if (passed !== null) back.send(passed, port, this.#host)
    })
    back.on('message', bytes => {
      const passed = this.isCut ? null : this.#passes(bytes, false)
      if (passed !== null && client !== null) front.send(passed, client.port, client.address)
    })
    return front.address().port
  }

  close(): void {
    for (const socket of this.#sockets.splice(0)) socket.close()
  }
}

async function open(host: string): Promise<Socket> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  socket.on('error', () => {})
  await new Promise<void>(resolve => socket.bind(0, host, resolve))
  return socket
}
