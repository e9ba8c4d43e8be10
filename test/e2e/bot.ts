import { once } from 'node:events'
import WebSocket from 'ws'
import type { Voice } from '../../bench/voices.ts'
import { PCMU } from '../../codecs/g711.ts'

const FRAME_SAMPLES = 160
const FRAME_MS = 20

interface BotMessage {
  event: string
  streamSid?: string
  start?: { callSid: string; mediaFormat: { encoding: string; sampleRate: number } }
  media?: { payload: string; chunk: string; timestamp: string }
  mark?: { name: string }
  dtmf?: { digit: string }
  stop?: object
  ring?: Record<string, string>
  control?: Record<string, unknown>
}

/** A client of the call WebSocket without a browser, in µ-law at 8 kHz. */
export class Bot {
  /** All messages except `media`. */
  readonly messages: BotMessage[] = []
  /** What it heard, at 8 kHz. */
  readonly heard: Int16Array[] = []
  closed: { code: number; reason: string } | null = null
  readonly #ws: WebSocket
  #timer: NodeJS.Timeout | undefined

  private constructor(ws: WebSocket) {
    this.#ws = ws
    ws.on('message', data => this.#take(JSON.parse(String(data)) as BotMessage))
    ws.on('close', (code, reason) => {
      clearInterval(this.#timer)
      this.closed = { code, reason: String(reason) }
    })
  }

  /** Connects; throws `{ status, body }` if it is refused. */
  static async connect(wsUrl: string, token: string, headers: Record<string, string> = {}): Promise<Bot> {
    const ws = new WebSocket(`${wsUrl}?client_token=${token}`, { headers })
    const bot = new Bot(ws)
    await new Promise<void>((resolve, reject) => {
      ws.once('open', resolve)
      ws.once('error', reject)
      ws.once('unexpected-response', async (_request, response) => {
        const chunks: Buffer[] = []
        for await (const chunk of response) chunks.push(chunk as Buffer)
        reject({ status: response.statusCode, body: JSON.parse(String(Buffer.concat(chunks))) })
      })
    })
    return bot
  }

  #take(message: BotMessage): void {
    if (message.media === undefined) {
      this.messages.push(message)
      this.#ws.emit('news')
      return
    }
    const bytes = Buffer.from(message.media.payload, 'base64')
    const samples = new Int16Array(bytes.length)
    PCMU.decode(bytes, samples)
    this.heard.push(samples)
    this.#ws.emit('news')
  }

  /** Resolves with the first message that fits. */
  async until(is: (message: BotMessage) => boolean): Promise<BotMessage> {
    for (;;) {
      const found = this.messages.find(is)
      if (found !== undefined) return found
      await once(this.#ws, 'news')
    }
  }

  /** Resolves with what it hears in the next `ms`. */
  async listen(ms: number): Promise<Int16Array> {
    const from = this.heard.length
    while (this.heard.length < from + ms / FRAME_MS) await once(this.#ws, 'news')
    return Int16Array.from(this.heard.slice(from).flatMap(frame => [...frame]))
  }

  /** Speaks like a microphone: a frame every 20 ms, with its time. */
  speak(voice: Voice): void {
    clearInterval(this.#timer)
    const began = performance.now()
    let frames = 0
    this.#timer = setInterval(() => {
      for (; frames * FRAME_MS < performance.now() - began; frames++) {
        this.send({ event: 'media', media: { timestamp: String(frames * FRAME_MS), payload: payloadOf(voice, 1) } })
      }
    }, FRAME_MS)
  }

  hush(): void {
    clearInterval(this.#timer)
  }

  /** Sends `ms` of audio at once, which the product plays in real time. */
  queue(voice: Voice, ms: number): void {
    this.send({ event: 'media', media: { payload: payloadOf(voice, ms / FRAME_MS) } })
  }

  send(message: object): void {
    this.raw(JSON.stringify(message))
  }

  raw(data: string | Buffer): void {
    this.#ws.send(data)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    if (this.closed !== null) return
    this.#ws.close(1000)
    await once(this.#ws, 'close')
  }
}

function payloadOf(voice: Voice, frames: number): string {
  const bytes = new Uint8Array(frames * FRAME_SAMPLES)
  const frame = new Int16Array(FRAME_SAMPLES)
  for (let i = 0; i < frames; i++) {
    voice(frame)
    PCMU.encode(frame, bytes.subarray(i * FRAME_SAMPLES, (i + 1) * FRAME_SAMPLES))
  }
  return Buffer.from(bytes).toString('base64')
}
