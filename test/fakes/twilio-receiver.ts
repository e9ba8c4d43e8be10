/**
 * A receiver like the published examples for Twilio's Media Streams: a WebSocket server, a switch over `event`, and only the fields that Twilio
 * documents. It knows nothing of this product: what works with it works with receivers for Twilio.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import alawmulaw from 'alawmulaw'
import { type WebSocket, WebSocketServer } from 'ws'

interface MediaStreamCall {
  streamSid: string
  callSid: string
  accountSid: string
  tracks: string[]
  mediaFormat: { encoding: string; sampleRate: number; channels: number }
  customParameters: Record<string, string>
  /** 16-bit PCM of each track, in the order of the chunks. */
  audio: Record<string, Int16Array[]>
  digits: string
  stopped: boolean
  closeCode: number | null
}

export class TwilioReceiver {
  readonly calls: MediaStreamCall[] = []
  /** Errors that a receiver would have logged. */
  readonly complaints: string[] = []
  readonly #http: Server
  readonly #ended: (() => void)[] = []

  private constructor() {
    this.#http = createServer()
    const server = new WebSocketServer({ server: this.#http })
    server.on('connection', ws => this.#connection(ws))
  }

  static async listen(): Promise<TwilioReceiver> {
    const receiver = new TwilioReceiver()
    await new Promise<void>(listening => receiver.#http.listen(0, '127.0.0.1', listening))
    return receiver
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#http.address() as AddressInfo).port}/`
  }

  /** Resolves when the next connection closes. */
  ended(): Promise<void> {
    return new Promise(resolve => this.#ended.push(resolve))
  }

  close(): Promise<unknown> {
    return new Promise(closed => {
      this.#http.close(closed)
      this.#http.closeAllConnections()
    })
  }

  #connection(ws: WebSocket): void {
    let call: MediaStreamCall | null = null
    let sequence = 0
    ws.on('message', data => {
      const message = JSON.parse(data.toString('utf8'))
      if (message.event !== 'connected' && message.sequenceNumber !== String(++sequence))
        this.complaints.push(`sequenceNumber ${message.sequenceNumber}, expected ${sequence}`)
      switch (message.event) {
        case 'connected':
          if (message.protocol !== 'Call' || message.version !== '1.0.0') this.complaints.push('unknown protocol')
          break
        case 'start':
          call = { ...message.start, audio: {}, digits: '', stopped: false, closeCode: null } as MediaStreamCall
          for (const track of call.tracks) call.audio[track] = []
          this.calls.push(call)
          break
        case 'media':
          this.#media(call, message)
          break
        case 'dtmf':
          if (message.dtmf.track !== 'inbound_track') this.complaints.push(`dtmf on ${message.dtmf.track}`)
          if (call !== null) call.digits += message.dtmf.digit
          break
        case 'stop':
          if (message.stop.callSid !== call?.callSid) this.complaints.push('stop for another call')
          if (call !== null) call.stopped = true
          break
        default:
          this.complaints.push(`unknown event ${message.event}`)
      }
    })
    ws.on('close', code => {
      if (call !== null) call.closeCode = code
      for (const resolve of this.#ended.splice(0)) resolve()
    })
  }

  #media(
    call: MediaStreamCall | null,
    message: { streamSid: string; media: { track: string; chunk: string; timestamp: string; payload: string } },
  ): void {
    const { track, chunk, timestamp, payload } = message.media
    const frames = call?.audio[track]
    if (call === null || frames === undefined || message.streamSid !== call.streamSid) {
      this.complaints.push(`media for ${message.streamSid}, track ${track}, before its start`)
      return
    }
    frames.push(alawmulaw.mulaw.decode(Buffer.from(payload, 'base64')))
    if (chunk !== String(frames.length)) this.complaints.push(`${track} chunk ${chunk}, expected ${frames.length}`)
    if (timestamp !== String(20 * (frames.length - 1)))
      this.complaints.push(`${track} chunk ${chunk} at ${timestamp} ms`)
    if (frames.at(-1)?.length !== 160) this.complaints.push(`${track} chunk ${chunk} is not 20 ms`)
  }
}
