import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import type { StreamMessage } from './stream-wire.ts'

export type Behaviour =
  /** Reads everything. */
  | 'reads'
  /** Accepts the upgrade and never reads from the socket until `resume`. */
  | 'never reads'
  /** Reads everything, and answers no pings. */
  | 'answers no pings'
  /** Resets the connection after a few messages. */
  | 'resets'
  /** Resets the connection instead of answering the upgrade. */
  | 'refuses'
  | 'answers 302'
  | 'answers 500'
  /** Never answers the upgrade. */
  | 'hangs in the handshake'
  /** Closes after a few messages. */
  | 'closes with 1000'
  | 'closes with 1011'
  /** Sends text, binary, invalid JSON, invalid UTF-8 and pings. */
  | 'sends garbage'
  /** Sends one message of 65 KiB. */
  | 'sends a large message'
  /** Breaks the WebSocket framing. */
  | 'breaks the framing'

const FEW_MESSAGES = 10

interface ReceiverConnection {
  headers: IncomingHttpHeaders
  messages: StreamMessage[]
  /** Number of messages that were binary or no JSON, which a stream never sends. */
  foreign: number
  closeCode: number | null
}

/** A stream receiver on a real socket with a behaviour for each connection; the last behaviour repeats. */
export class WsReceiver {
  readonly connections: ReceiverConnection[] = []
  /** Number of upgrade requests, answered or not. */
  dials = 0
  readonly #behaviours: Behaviour[]
  readonly #http: Server
  readonly #sockets = new Set<Socket>()
  readonly #upgrader = new WebSocketServer({ noServer: true, perMessageDeflate: true })
  readonly #silent = new WebSocketServer({ noServer: true, autoPong: false })
  readonly #watchers = new Set<() => void>()
  #latest: Socket | null = null
  #paused: Socket | null = null

  private constructor(behaviours: Behaviour[]) {
    this.#behaviours = behaviours
    this.#http = createServer((_, response) => response.writeHead(426).end())
    this.#http.on('connection', socket => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      socket.on('error', () => {})
    })
    this.#http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as Socket, head))
  }

  static async listen(...behaviours: Behaviour[]): Promise<WsReceiver> {
    const receiver = new WsReceiver(behaviours)
    await new Promise<void>(listening => receiver.#http.listen(0, '127.0.0.1', listening))
    return receiver
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}/media?a=b`
  }

  /** Every message of every connection, in order. */
  get messages(): StreamMessage[] {
    return this.connections.flatMap(({ messages }) => messages)
  }

  /** Chunk numbers of one track, over all connections. */
  chunks(track: string): { chunk: number }[] {
    return this.messages.flatMap(({ media }) => (media?.track === track ? [{ chunk: Number(media.chunk) }] : []))
  }

  /** Resolves when `condition` holds; checked whenever something arrives. */
  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve()
    return new Promise(resolve => {
      const watcher = (): void => {
        if (!condition()) return
        this.#watchers.delete(watcher)
        resolve()
      }
      this.#watchers.add(watcher)
    })
  }

  /** Stops reading from the latest connection, including its raw socket, so that pings are not answered either. */
  pause(): void {
    this.#paused = this.#latest
    this.#paused?.pause()
  }

  /** Reads from the paused connection again. */
  resume(): void {
    this.#paused?.resume()
    this.#paused = null
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise(closed => this.#http.close(closed))
  }

  #moved(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    this.dials++
    const behaviour = this.#behaviours.length > 1 ? this.#behaviours.shift()! : this.#behaviours[0]!
    if (behaviour === 'refuses') socket.resetAndDestroy()
    else if (behaviour === 'answers 302')
      socket.end(`HTTP/1.1 302 Found\r\nLocation: ${this.url}\r\nContent-Length: 0\r\n\r\n`)
    else if (behaviour === 'answers 500') socket.end('HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n')
    else if (behaviour !== 'hangs in the handshake') {
      const upgrader = behaviour === 'answers no pings' ? this.#silent : this.#upgrader
      upgrader.handleUpgrade(request, socket, head, ws => this.#accept(ws, request, socket, behaviour))
    }
    this.#moved()
  }

  #accept(ws: WebSocket, request: IncomingMessage, socket: Socket, behaviour: Behaviour): void {
    const connection: ReceiverConnection = { headers: request.headers, messages: [], foreign: 0, closeCode: null }
    this.connections.push(connection)
    ws.on('error', () => {})
    ws.on('close', code => {
      connection.closeCode = code
      this.#moved()
    })
    ws.on('message', (data, isBinary) => {
      if (isBinary) connection.foreign++
      else connection.messages.push(JSON.parse(String(data)))
      if (connection.messages.length === FEW_MESSAGES) act(ws, socket, behaviour)
      this.#moved()
    })
    this.#latest = socket
    if (behaviour === 'never reads') this.pause()
    this.#moved()
  }
}

function act(ws: WebSocket, socket: Socket, behaviour: Behaviour): void {
  if (behaviour === 'resets') socket.resetAndDestroy()
  else if (behaviour === 'closes with 1000') ws.close(1000)
  else if (behaviour === 'closes with 1011') ws.close(1011)
  else if (behaviour === 'sends a large message') ws.send('x'.repeat(65 * 1024))
  else if (behaviour === 'breaks the framing') socket.write(Buffer.alloc(64, 0xff))
  else if (behaviour === 'sends garbage') {
    ws.send('{"event":"media"')
    ws.send(Buffer.from([0xff, 0xfe, 0x00]))
    ws.send(Buffer.from([0xff, 0xfe, 0x00]), { binary: false })
    ws.send('x'.repeat(64 * 1024))
    ws.ping('are you there')
    ws.pong('unasked')
  }
}
