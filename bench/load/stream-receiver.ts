import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import type { StreamFormat } from '../../media/protocol.ts'
import { Histogram } from './histogram.ts'
import type { StreamResult } from './messages.ts'
import type { Talkers } from './talker.ts'
import { readWideMark, WIDE_FRAMES } from './wide-mark.ts'

const HOST = '127.0.0.1'
const LONGEST_PAYLOAD = 640
const TRACK = '"track":"'
const CHUNK = '"chunk":"'
const PAYLOAD = '"payload":"'
const ZERO = 48
const QUOTE = 34

/** Receives the streams of the load's legs; finds what it needs without parsing each message. */
export class StreamReceiver {
  readonly #server: WebSocketServer
  readonly #talkers: Talkers
  readonly #format: StreamFormat
  readonly #latency = new Histogram()
  readonly #payload = Buffer.alloc(LONGEST_PAYLOAD)
  #from = 0
  #to = 0
  #received = 0
  #missing = 0
  #broken = 0

  private constructor(server: WebSocketServer, talkers: Talkers, format: StreamFormat) {
    this.#server = server
    this.#talkers = talkers
    this.#format = format
    server.on('connection', (socket, request) => {
      const leg = Number(request.url?.slice(1))
      const chunks = { inbound: 0, outbound: 0 }
      socket.on('error', () => {})
      socket.on('message', data => this.#message(leg, data as Buffer, chunks))
    })
  }

  static async open(talkers: Talkers, format: StreamFormat): Promise<StreamReceiver> {
    const server = new WebSocketServer({ host: HOST, port: 0, perMessageDeflate: false, skipUTF8Validation: true })
    await once(server, 'listening')
    return new StreamReceiver(server, talkers, format)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Forgets what was counted; from now on frames said from `frame` on count. */
  begin(frame: number): void {
    this.#latency.clear()
    this.#received = this.#missing = this.#broken = 0
    this.#from = frame
    this.#to = Number.POSITIVE_INFINITY
  }

  end(frame: number): void {
    this.#to = frame
  }

  /** @param frames that each leg said in the measurement */
  result(frames: number): StreamResult {
    const open = this.#server.clients.size
    return {
      open,
      framesExpected: open * frames,
      framesReceived: this.#received,
      framesMissing: this.#missing,
      framesBroken: this.#broken,
      latencyMs: this.#latency.percentiles(),
    }
  }

  close(): void {
    for (const client of this.#server.clients) client.terminate()
    this.#server.close()
  }

  #message(leg: number, data: Buffer, chunks: { inbound: number; outbound: number }): void {
    const now = performance.now()
    const trackAt = data.indexOf(TRACK)
    const payloadAt = data.indexOf(PAYLOAD)
    if (trackAt < 0 || payloadAt < 0) return
    const track = data[trackAt + TRACK.length] === 'i'.charCodeAt(0) ? 'inbound' : 'outbound'
    const chunk = decimal(data, data.indexOf(CHUNK) + CHUNK.length)
    if (chunks[track] > 0) this.#missing += Math.max(0, chunk - chunks[track] - 1)
    chunks[track] = chunk
    if (track === 'inbound') this.#heard(leg, data, payloadAt + PAYLOAD.length, now)
  }

  #heard(leg: number, data: Buffer, at: number, now: number): void {
    this.#payload.write(data.toString('latin1', at, data.indexOf(QUOTE, at)), 'base64')
    const number = readWideMark(this.#payload, this.#format)
    if (number < 0) {
      this.#broken++
      return
    }
    // The mark holds the number modulo 1024; it is the latest frame that fits.
    const { latest } = this.#talkers
    const frame = latest - ((latest - number) & (WIDE_FRAMES - 1))
    if (frame < this.#from || frame >= this.#to) return
    this.#received++
    this.#latency.add(now - this.#talkers.sentAt(leg, frame))
  }
}

function decimal(bytes: Uint8Array, from: number): number {
  let value = 0
  for (let at = from; bytes[at] !== QUOTE && at < bytes.length; at++) value = value * 10 + bytes[at]! - ZERO
  return value
}
