import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import type { StreamFormat } from '../../media/protocol.ts'
import { Histogram } from './histogram.ts'
import type { Ledger } from './ledger.ts'
import { heardAt } from './listener.ts'
import { signOf, ULAW_SIGNS } from './mark.ts'
import { FRAME_SAMPLES, MarkReader } from './mark-reader.ts'
import type { StreamResult } from './messages.ts'
import { SlotDelay } from './slot-delay.ts'

const HOST = '127.0.0.1'
const LONGEST_PAYLOAD = 640
const TRACK = '"track":"'
const CHUNK = '"chunk":"'
const TIMESTAMP = '"timestamp":"'
const PAYLOAD = '"payload":"'
const ZERO = 48
const QUOTE = 34

/** How samples lie in a payload; `step`: from one of the samples at 8 kHz to the next [bytes]. */
const LAYOUT: Record<StreamFormat, { bytesPerSample: 1 | 2; step: number }> = {
  mulaw_8000: { bytesPerSample: 1, step: 1 },
  l16_8000: { bytesPerSample: 2, step: 2 },
  l16_16000: { bytesPerSample: 2, step: 4 },
}

/** The stream of one leg. */
interface Stream {
  leg: number
  chunks: { inbound: number; outbound: number }
  marks: MarkReader
  /** When the last inbound frame arrived, and the one before it [ms]. */
  arrivedAt: number
  cameBefore: number
}

/** Receives the streams of the load's legs. To save CPU it searches messages for what it needs, instead of parsing their JSON. */
export class StreamReceiver {
  readonly #server: WebSocketServer
  readonly #ledger: Ledger
  readonly #format: StreamFormat
  readonly #latency = new Histogram()
  readonly #slotDelay = new SlotDelay()
  readonly #payload = Buffer.alloc(LONGEST_PAYLOAD)
  #from = 0
  #to = 0
  #received = 0
  #missing = 0
  #broken = 0

  private constructor(server: WebSocketServer, ledger: Ledger, format: StreamFormat) {
    this.#server = server
    this.#ledger = ledger
    this.#format = format
    server.on('connection', (socket, request) => {
      const leg = Number(request.url?.slice(1))
      const chunks = { inbound: 0, outbound: 0 }
      const stream: Stream = { leg, chunks, marks: new MarkReader(), arrivedAt: 0, cameBefore: 0 }
      socket.on('error', () => {})
      socket.on('message', data => this.#message(stream, data as Buffer))
    })
  }

  static async open(ledger: Ledger, format: StreamFormat): Promise<StreamReceiver> {
    const server = new WebSocketServer({ host: HOST, port: 0, perMessageDeflate: false, skipUTF8Validation: true })
    await once(server, 'listening')
    return new StreamReceiver(server, ledger, format)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Starts to count anew: what is said from `from` until `to` [ms]. */
  measure(from: number, to: number): void {
    this.#latency.clear()
    this.#slotDelay.clear()
    this.#received = this.#missing = this.#broken = 0
    this.#from = from
    this.#to = to
  }

  /** @param said number of marks that the legs said in the measurement */
  result(said: number): StreamResult {
    return {
      open: this.#server.clients.size,
      framesExpected: said,
      framesReceived: this.#received,
      framesMissing: this.#missing,
      framesBroken: this.#broken,
      latencyMs: this.#latency.percentiles(),
      slotDelayMs: this.#slotDelay.percentiles(),
    }
  }

  close(): void {
    for (const client of this.#server.clients) client.terminate()
    this.#server.close()
  }

  #message(stream: Stream, data: Buffer): void {
    const now = performance.now()
    const { chunks } = stream
    const trackAt = data.indexOf(TRACK)
    const payloadAt = data.indexOf(PAYLOAD)
    if (trackAt < 0 || payloadAt < 0) return
    const track = data[trackAt + TRACK.length] === 'i'.charCodeAt(0) ? 'inbound' : 'outbound'
    const chunk = decimal(data, data.indexOf(CHUNK) + CHUNK.length)
    if (chunks[track] > 0) this.#missing += Math.max(0, chunk - chunks[track] - 1)
    chunks[track] = chunk
    if (track !== 'inbound') return
    if (now >= this.#from && now < this.#to) {
      const timestamp = decimal(data, data.indexOf(TIMESTAMP) + TIMESTAMP.length)
      this.#slotDelay.add(stream.leg, timestamp, now)
    }
    this.#heard(stream, data, payloadAt + PAYLOAD.length, now)
  }

  #heard(stream: Stream, data: Buffer, at: number, now: number): void {
    stream.cameBefore = stream.arrivedAt
    stream.arrivedAt = now
    const payload = this.#payload
    payload.write(data.toString('latin1', at, data.indexOf(QUOTE, at)), 'base64')
    const { bytesPerSample, step } = LAYOUT[this.#format]
    const signs = stream.marks.next()
    for (let i = 0; i < FRAME_SAMPLES; i++) {
      signs[FRAME_SAMPLES + i] =
        bytesPerSample === 1 ? ULAW_SIGNS[payload[i]!]! : signOf((payload[i * step + 1]! << 24) >> 16)
    }
    const found = stream.marks.find()
    if (found === 'broken') this.#broken++
    else if (found === 'mark') this.#marked(stream)
  }

  #marked(stream: Stream): void {
    const { leg, frame: number } = stream.marks.mark
    if (leg !== stream.leg) {
      this.#broken++
      return
    }
    const sentAt = this.#ledger.sentAt(leg, this.#ledger.frameOf(leg, number))
    if (sentAt < this.#from || sentAt >= this.#to) return
    this.#received++
    this.#latency.add(heardAt(stream) - sentAt)
  }
}

function decimal(bytes: Uint8Array, from: number): number {
  let value = 0
  for (let at = from; bytes[at] !== QUOTE && at < bytes.length; at++) value = value * 10 + bytes[at]! - ZERO
  return value
}
