import type { Socket } from 'node:net'
import WebSocket from 'ws'
import type { Wire } from '../streams/stream-connection.ts'

/** A ping carries its number. */
const PING_BYTES = 4
const TEXT = { binary: false }
const PING_EVERY_MS = 20_000
const PONG_WITHIN_MS = 10_000

interface BrowserSocketEvents {
  text(text: string): void
  pong(ping: number, roundTripMs: number): void
  drained(): void
  /** Once. `code`: 1006 when it did not say goodbye. */
  closed(code: number): void
}

/** A call WebSocket, or the link to the node that has it, as what a stream is sent on, with the pings that find a page that is gone. */
export class BrowserSocket implements Wire {
  /** Messages that were no text. */
  refused = 0
  readonly #ws: WebSocket
  readonly #socket: Socket
  readonly #ping = Buffer.alloc(PING_BYTES)
  readonly #sent: (error?: Error) => void
  readonly #now: () => number
  #pings = 0
  #pingedAt = 0
  #isAwaited = false
  #stalled = false
  #timer: NodeJS.Timeout

  constructor(ws: WebSocket, socket: Socket, events: BrowserSocketEvents, now: () => number) {
    this.#ws = ws
    this.#socket = socket
    this.#now = now
    this.#sent = error => {
      if (error || !this.#stalled) return
      this.#stalled = false
      events.drained()
    }
    ws.on('message', (data, isBinary) => {
      if (isBinary) this.refused++
      else events.text(data.toString())
    })
    ws.on('pong', payload => {
      if (payload.length !== PING_BYTES) return
      const ping = payload.readUInt32BE(0)
      this.#isAwaited = false
      events.pong(ping, ping === this.#pings ? now() - this.#pingedAt : Number.NaN)
    })
    // Faults show in its closing.
    ws.on('error', () => {})
    ws.on('close', code => {
      clearTimeout(this.#timer)
      events.closed(code)
    })
    this.#timer = setTimeout(() => this.#watch(), PING_EVERY_MS)
  }

  #watch(): void {
    this.#isAwaited = true
    this.ping()
    this.#timer = setTimeout(() => {
      if (this.#isAwaited) this.#ws.terminate()
      else this.#timer = setTimeout(() => this.#watch(), PING_EVERY_MS - PONG_WITHIN_MS)
    }, PONG_WITHIN_MS)
  }

  /** The caller may write to `text` afterwards: `ws` would pass these very bytes on to the socket, or mask them in place. False: it is closing. */
  send(text: Buffer): boolean {
    if (this.#ws.readyState !== WebSocket.OPEN) return false
    this.#ws.send(Buffer.from(text), TEXT, this.#sent)
    return true
  }

  cork(): void {
    this.#socket.cork()
  }

  uncork(): void {
    this.#socket.uncork()
  }

  buffered(): number {
    if (this.#ws.readyState !== WebSocket.OPEN) return Number.POSITIVE_INFINITY
    const bytes = this.#ws.bufferedAmount
    this.#stalled = bytes > 0
    return bytes
  }

  ping(): number {
    this.#ping.writeUInt32BE(++this.#pings)
    this.#pingedAt = this.#now()
    if (this.#ws.readyState === WebSocket.OPEN) this.#ws.ping(this.#ping, undefined, this.#sent)
    return this.#pings
  }

  /** `reason`: at most 120 characters of ASCII. */
  close(code: number, reason = ''): void {
    this.#ws.close(code, reason)
  }

  terminate(): void {
    this.#ws.terminate()
  }
}
