import { chooseDatagrams } from '../../media/rtp/datagrams/choose.ts'
import type { DatagramSocket, Datagrams } from '../../media/rtp/datagrams/datagrams.ts'

/** The flood's hosts are addresses in 127.64.0.0/16, which no connection allows; each has its own socket. */
const FIRST_NET = 64
const HOSTS_PER_NET = 250
const PORT = 5070
const TURN_MS = 5

const GARBAGE = Buffer.from('\r\n\x00\xffINVITE sip:\u0001 SIP/9.9 nothing that anybody can read\r\n\r\n', 'latin1')

/** Unknown hosts that send OPTIONS, INVITE and garbage at a given rate. It uses little CPU, since in reality such hosts are other machines. */
export class Flood {
  sent = 0
  readonly #datagrams: Datagrams
  readonly #sockets: DatagramSocket[]
  readonly #to: { host: string; port: number }
  #timer: NodeJS.Timeout | undefined
  #next = 0

  private constructor(datagrams: Datagrams, sockets: DatagramSocket[], to: { host: string; port: number }) {
    this.#datagrams = datagrams
    this.#sockets = sockets
    this.#to = to
  }

  static async open(hosts: number, to: { host: string; port: number }): Promise<Flood> {
    const { datagrams } = await chooseDatagrams('auto')
    const sockets: DatagramSocket[] = []
    for (let host = 0; host < hosts; host++) {
      const socket = await datagrams.bind(addressOf(host), PORT)
      if (socket === null) throw new Error(`${addressOf(host)}:${PORT} is taken`)
      // Answers are received and dropped, or the system would count them as refused.
      socket.listen({ rtp: () => {} }, () => {})
      sockets.push(socket)
    }
    return new Flood(datagrams, sockets, to)
  }

  begin(perSecond: number): void {
    const startedAt = performance.now()
    const before = this.sent
    this.#timer = setInterval(() => {
      const due = before + ((performance.now() - startedAt) / 1000) * perSecond
      // The limit keeps a sender that is late from blocking this thread; it makes up for it in later turns.
      this.#datagrams.sendTogether(() => {
        for (let n = 0; this.sent < due && n < (perSecond * TURN_MS * 4) / 1000; n++) this.#send()
      })
      this.#datagrams.poll()
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
    const packet = datagram(number, addressOf(host))
    this.#sockets[host]!.send(packet, packet.length, this.#to.host, this.#to.port)
    this.sent++
  }
}

const addressOf = (host: number): string =>
  `127.${FIRST_NET}.${1 + Math.floor(host / HOSTS_PER_NET)}.${1 + (host % HOSTS_PER_NET)}`

/** The packet with this number: OPTIONS, INVITE and garbage in turn. */
function datagram(number: number, address: string): Buffer {
  if (number % 3 === 2) return GARBAGE
  const method = number % 3 === 0 ? 'OPTIONS' : 'INVITE'
  return Buffer.from(
    `${method} sip:1002@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP ${address}:${PORT};branch=z9hG4bKflood${number}\r\n` +
      `Max-Forwards: 70\r\nFrom: <sip:stranger@${address}>;tag=f${number}\r\nTo: <sip:1002@127.0.0.1>\r\n` +
      `Call-ID: flood-${number}@${address}\r\nCSeq: 1 ${method}\r\nContact: <sip:stranger@${address}:${PORT}>\r\nContent-Length: 0\r\n\r\n`,
  )
}
