import { createSocket, type Socket as Datagrams } from 'node:dgram'
import { EventEmitter, once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

const HOST = '127.0.0.1'
const PATIENCE_MS = 10_000

/** A message that the peer received, unparsed. */
export interface Raw {
  text: string
  /** The request's method, or the response's status. */
  what: string
  /** The address from which it came; empty: over a TCP connection. */
  from: string
  reply: (text: string) => void
  /** Replies with a response, see `responseTo`, and returns it. */
  answer: (status: string, more?: string[], body?: string, tag?: string) => string
}

/** The value of a header; empty: there is none. */
export const field = (text: string, name: string): string =>
  new RegExp(`^${name}\\s*:\\s*(.*?)\\r?$`, 'im').exec(text)?.[1] ?? ''

const bodyOf = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4)

/** A far end over UDP or TCP that sends exactly what the test writes. */
export class RawPeer {
  readonly port: number
  readonly received: Raw[] = []
  readonly #news = new EventEmitter()
  readonly #send: (text: string, port: number, host: string) => void
  readonly #close: () => void
  #next = 0

  private constructor(port: number, send: RawPeer['send'], close: () => void) {
    this.port = port
    this.#send = send
    this.#close = close
  }

  static async udp(host = HOST): Promise<RawPeer> {
    const socket: Datagrams = createSocket('udp4').bind(0, host)
    await once(socket, 'listening')
    const peer = new RawPeer(
      socket.address().port,
      (text, port, to) => socket.send(text, port, to),
      () => socket.close(),
    )
    socket.on('message', (bytes, { port, address }) =>
      peer.#take(bytes.toString('latin1'), text => peer.send(text, port, address), address),
    )
    return peer
  }

  /** Listens, and receives messages over all connections. */
  static async tcp(host = HOST): Promise<RawPeer> {
    const sockets = new Set<Socket>()
    const server = createServer(socket => peer.#adopt(socket, sockets)).listen(0, host)
    await once(server, 'listening')
    const { port: own } = server.address() as { port: number }
    const peer: RawPeer = new RawPeer(
      own,
      (text, port, to) => {
        const socket = connect(port, to, () => socket.write(text))
        peer.#adopt(socket, sockets)
      },
      () => {
        server.close()
        for (const socket of sockets) socket.destroy()
      },
    )
    return peer
  }

  #adopt(socket: Socket, sockets: Set<Socket>): void {
    sockets.add(socket)
    let held = ''
    socket.on('error', () => {})
    socket.on('close', () => this.#take('', () => {}))
    socket.on('data', bytes => {
      held += bytes.toString('latin1')
      for (;;) {
        held = held.replace(/^(\r\n)+/, '')
        const end = held.indexOf('\r\n\r\n')
        const length = end + 4 + Number(field(held.slice(0, end + 2), 'content-length'))
        if (end < 0 || held.length < length) return
        const text = held.slice(0, length)
        held = held.slice(length)
        this.#take(text, answer => socket.write(answer))
      }
    })
  }

  #take(text: string, reply: Raw['reply'], from = ''): void {
    const what = /^SIP\/2\.0 (\d+)|^(\w+)/.exec(text)
    const answer: Raw['answer'] = (...said) => {
      const response = responseTo({ text }, ...said)
      reply(response)
      return response
    }
    this.received.push({ text, what: what?.[1] ?? what?.[2] ?? 'closed', from, reply, answer })
    this.#news.emit('news')
  }

  send(text: string, port: number, host = HOST): void {
    this.#send(text, port, host)
  }

  /** Resolves with the next message of this kind that was not taken yet; skips those before it. */
  async next(what: string | RegExp, limitMs = PATIENCE_MS): Promise<Raw> {
    const limit = AbortSignal.timeout(limitMs)
    for (;;) {
      const at = this.received.findIndex(
        (one, i) =>
          i >= this.#next && new RegExp(`^(?:${typeof what === 'string' ? what : what.source})$`).test(one.what),
      )
      if (at >= 0) {
        this.#next = at + 1
        return this.received[at]!
      }
      await once(this.#news, 'news', { signal: limit }).catch(() => {
        throw new Error(`no ${what}; got ${this.received.map(one => one.what).join(' ')}`)
      })
    }
  }

  /** Answers the next request of this method, and resolves with it. */
  async takes(method: string, status = '200 OK', ...said: [more?: string[], body?: string]): Promise<Raw> {
    const request = await this.next(method)
    request.answer(status, ...said)
    return request
  }

  close(): void {
    this.#close()
  }
}

/** A response to a request, with its Vias, Record-Route and identifiers. */
function responseTo({ text }: Pick<Raw, 'text'>, status: string, more: string[] = [], body = '', tag = 'far'): string {
  const copied = text
    .slice(0, text.indexOf('\r\n\r\n'))
    .split('\r\n')
    .filter(line => /^(via|from|call-id|cseq|record-route)\s*:/i.test(line))
  const to = field(text, 'to')
  const own = to.includes(';tag=') || status.startsWith('100') ? to : `${to};tag=${tag}`
  return [
    `SIP/2.0 ${status}`,
    ...copied,
    `To: ${own}`,
    ...more,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')
}

/** SDP with one audio line. */
export const audioAt = (port: number, formats = '0', more: string[] = []): string =>
  [
    'v=0',
    `o=far 1 1 IN IP4 ${HOST}`,
    's=-',
    `c=IN IP4 ${HOST}`,
    't=0 0',
    `m=audio ${port} RTP/AVP ${formats}`,
    ...more,
    '',
  ].join('\r\n')

export { bodyOf }
