import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { PCMU } from '../codecs/g711.ts'

export type StreamTrack = 'inbound' | 'outbound'

/** One `media` message: 20 ms of one track. */
interface StreamFrame {
  /** Monotonic arrival time [ms]. */
  at: number
  chunk: number
  /** Time since the stream began [ms]. */
  timestamp: number
  payload: Buffer
}

/** One received media stream, by its messages. */
export interface ReceivedStream {
  streamId: string
  callId: string
  encoding: string
  sampleRateHz: number
  customParameters: Record<string, string>
  tracks: Record<StreamTrack, StreamFrame[]>
  keys: string
  stopped: boolean
  /** Every message as it arrived, except audio. */
  log: string[]
}

/** A receiver of media streams on a free port of the loopback address. */
export class StreamReceiver {
  readonly streams: ReceivedStream[] = []
  readonly #http: Server
  readonly #sockets: WebSocketServer
  readonly #watchers = new Set<() => void>()
  readonly #lines = new Map<string, WebSocket>()

  private constructor() {
    this.#http = createServer()
    this.#sockets = new WebSocketServer({ server: this.#http })
    this.#sockets.on('connection', ws => this.#connection(ws))
  }

  static async listen(): Promise<StreamReceiver> {
    const receiver = new StreamReceiver()
    await new Promise<void>(listening => receiver.#http.listen(0, '127.0.0.1', listening))
    return receiver
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#http.address() as AddressInfo).port}/`
  }

  /** Stops reading from all connections until `resume`. */
  stall(): void {
    for (const ws of this.#sockets.clients) ws.pause()
  }

  resume(): void {
    for (const ws of this.#sockets.clients) ws.resume()
  }

  /** Resolves with the result of `find` as soon as that is not undefined; `find` is called at each message. */
  until<T>(find: () => T | undefined): Promise<T> {
    return new Promise(resolve => {
      const look = (): void => {
        const found = find()
        if (found === undefined) return
        this.#watchers.delete(look)
        resolve(found)
      }
      this.#watchers.add(look)
      look()
    })
  }

  /** Resolves with the stream of that ID once it has started. */
  stream(streamId: string): Promise<ReceivedStream> {
    return this.until(() => this.streams.find(stream => stream.streamId === streamId))
  }

  /** Resolves with the next `count` frames of a track. */
  async frames(stream: ReceivedStream, track: StreamTrack, count: number): Promise<StreamFrame[]> {
    const frames = stream.tracks[track]
    const from = frames.length
    return this.until(() => (frames.length >= from + count ? frames.slice(from, from + count) : undefined))
  }

  /** Sends a message to a bidirectional stream. */
  say(streamId: string, message: object): void {
    this.#lines.get(streamId)?.send(JSON.stringify(message))
  }

  close(): Promise<void> {
    return new Promise(closed => {
      this.#http.close(() => closed())
      for (const ws of this.#sockets.clients) ws.terminate()
      this.#http.closeAllConnections()
    })
  }

  #connection(ws: WebSocket): void {
    let stream: ReceivedStream | null = null
    ws.on('error', () => {})
    ws.on('message', data => {
      const at = performance.now()
      const text = String(data)
      const message = JSON.parse(text)
      if (message.event === 'start') {
        stream = streamOf(message.start)
        this.streams.push(stream)
        this.#lines.set(stream.streamId, ws)
      } else if (message.event === 'media') {
        const { track, chunk, timestamp, payload } = message.media
        stream?.tracks[track as StreamTrack]?.push({
          at,
          chunk: Number(chunk),
          timestamp: Number(timestamp),
          payload: Buffer.from(payload, 'base64'),
        })
      } else if (message.event === 'dtmf' && stream !== null) stream.keys += message.dtmf.digit
      else if (message.event === 'stop' && stream !== null) stream.stopped = true
      if (message.event !== 'media') stream?.log.push(text)
      for (const look of [...this.#watchers]) look()
    })
  }
}

/** The content of a `start` message. */
function streamOf(start: {
  streamSid: string
  callSid: string
  mediaFormat: { encoding: string; sampleRate: number }
  customParameters: Record<string, string>
}): ReceivedStream {
  return {
    streamId: start.streamSid,
    callId: start.callSid,
    encoding: start.mediaFormat.encoding,
    sampleRateHz: start.mediaFormat.sampleRate,
    customParameters: start.customParameters,
    tracks: { inbound: [], outbound: [] },
    keys: '',
    stopped: false,
    log: [],
  }
}

/** The audio of frames, one after the other, as 16-bit samples at the stream's own rate. */
export function audioOf(stream: Pick<ReceivedStream, 'encoding'>, frames: readonly StreamFrame[]): Int16Array {
  const bytes = Buffer.concat(frames.map(frame => frame.payload))
  if (stream.encoding === 'audio/x-mulaw') {
    const samples = new Int16Array(bytes.length)
    PCMU.decode(bytes, samples)
    return samples
  }
  return Int16Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readInt16LE(2 * i))
}
