import { createSocket, type Socket } from 'node:dgram'

/** Hosts of 127.0.0.0/8 that nobody has let in; each has a port of its own. */
const FIRST_NET = 64
const HOSTS_PER_NET = 250
const TURN_MS = 5

const GARBAGE = Buffer.from('\r\n\x00\xffINVITE sip:\u0001 SIP/9.9 nothing that anybody can read\r\n\r\n', 'latin1')

/** Strangers who send OPTIONS, INVITE and garbage as fast as they are told to. */
export class Flood {
  sent = 0
  readonly #sockets: Socket[]
  readonly #to: { host: string; port: number }
  #timer: NodeJS.Timeout | undefined
  #next = 0

  private constructor(sockets: Socket[], to: { host: string; port: number }) {
    this.#sockets = sockets
    this.#to = to
  }

  static async open(hosts: number, to: { host: string; port: number }): Promise<Flood> {
    const sockets: Socket[] = []
    for (let host = 0; host < hosts; host++) {
      const socket = createSocket({ type: 'udp4', lookup: (address, _options, done) => done(null, address, 4) })
      socket.on('error', () => {})
      // What comes back is read, or the system would count it as refused.
      socket.on('message', () => {})
      await new Promise<void>(bound => socket.bind(0, addressOf(host), bound))
      sockets.push(socket)
    }
    return new Flood(sockets, to)
  }

  begin(perSecond: number): void {
    const startedAt = performance.now()
    const before = this.sent
    this.#timer = setInterval(() => {
      const due = before + ((performance.now() - startedAt) / 1000) * perSecond
      // A load that is late sends what it can in its turn, and is not late for ever.
      for (let n = 0; this.sent < due && n < (perSecond * TURN_MS * 4) / 1000; n++) this.#send()
    }, TURN_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  close(): void {
    this.stop()
    for (const socket of this.#sockets) socket.close()
  }

  #send(): void {
    const number = this.#next++
    const host = number % this.#sockets.length
    this.#sockets[host]!.send(datagram(number, addressOf(host)), this.#to.port, this.#to.host)
    this.sent++
  }
}

const addressOf = (host: number): string =>
  `127.${FIRST_NET}.${1 + Math.floor(host / HOSTS_PER_NET)}.${1 + (host % HOSTS_PER_NET)}`

/** A third of each. */
function datagram(number: number, address: string): Buffer {
  if (number % 3 === 2) return GARBAGE
  const method = number % 3 === 0 ? 'OPTIONS' : 'INVITE'
  return Buffer.from(
    `${method} sip:1002@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP ${address}:5060;rport;branch=z9hG4bKflood${number}\r\n` +
      `Max-Forwards: 70\r\nFrom: <sip:stranger@${address}>;tag=f${number}\r\nTo: <sip:1002@127.0.0.1>\r\n` +
      `Call-ID: flood-${number}@${address}\r\nCSeq: 1 ${method}\r\nContact: <sip:stranger@${address}:5060>\r\nContent-Length: 0\r\n\r\n`,
  )
}
