import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

interface ProviderRequest {
  path: string
  authorization: string | undefined
  body: Buffer
}

/**
 * A provider of speech as OpenAI documents it: `/v1/audio/speech`, `/v1/audio/transcriptions`, and the realtime WebSocket for
 * transcription. The test sets its answers; its requests are kept.
 */
export class SpeechProvider {
  readonly requests: ProviderRequest[] = []
  /** Messages of the realtime WebSocket. */
  readonly messages: Record<string, unknown>[] = []
  /** The audio that it answers with, at 24 kHz. */
  audio: Buffer = Buffer.alloc(0)
  /** The texts that it recognises, in order. */
  texts: string[] = []
  /**
   * `silent`: it never answers. `broken`: it closes the connection. A number: that HTTP status. Over the realtime WebSocket, `failing`: it tells that an
   * utterance could not be recognised; `erring`: it answers with an `error`, which names no utterance.
   */
  mood: 'well' | 'silent' | 'broken' | 'failing' | 'erring' | number = 'well'
  connections = 0
  readonly #server: Server
  readonly #sockets = new WebSocketServer({ noServer: true })
  #nextItem = 1

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const body = await bodyOf(request)
      const { authorization } = request.headers
      this.requests.push({ path: request.url ?? '', authorization, body })
      if (this.mood === 'silent') return
      if (this.mood === 'broken') {
        request.socket.destroy()
        return
      }
      if (typeof this.mood === 'number') response.writeHead(this.mood).end('{"error":{"message":"no"}}')
      else if (request.url === '/v1/audio/speech') {
        response.writeHead(200, { 'content-type': 'application/octet-stream' })
        // In two chunks that split a sample.
        response.write(this.audio.subarray(0, 1001))
        response.end(this.audio.subarray(1001))
      } else {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ text: this.texts.shift() ?? '', usage: { type: 'duration', seconds: 1 } }))
      }
    })
    this.#server.on('upgrade', (request, socket, head) => {
      this.requests.push({
        path: request.url ?? '',
        authorization: request.headers.authorization,
        body: Buffer.alloc(0),
      })
      if (typeof this.mood === 'number') {
        socket.end(`HTTP/1.1 ${this.mood} No\r\n\r\n`)
        return
      }
      this.#sockets.handleUpgrade(request, socket, head, webSocket => this.#realtime(webSocket))
    })
  }

  static async start(): Promise<SpeechProvider> {
    const provider = new SpeechProvider()
    await new Promise<void>(resolve => provider.#server.listen(0, '127.0.0.1', resolve))
    return provider
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The audio that it got over WebSockets, decoded. */
  get appended(): Buffer {
    const parts = this.messages.filter(({ type }) => type === 'input_audio_buffer.append')
    return Buffer.concat(parts.map(({ audio }) => Buffer.from(String(audio), 'base64')))
  }

  /** Number of messages of this type. */
  told(type: string): number {
    return this.messages.filter(message => message.type === type).length
  }

  #realtime(socket: WebSocket): void {
    this.connections++
    const send = (message: object): void => socket.send(JSON.stringify({ event_id: 'event_1', ...message }))
    send({ type: 'session.created', session: { type: 'transcription' } })
    socket.on('message', data => {
      const message = JSON.parse(String(data)) as Record<string, unknown>
      this.messages.push(message)
      if (message.type === 'session.update') send({ type: 'session.updated', session: message.session })
      if (message.type === 'input_audio_buffer.clear') send({ type: 'input_audio_buffer.cleared' })
      if (message.type !== 'input_audio_buffer.commit' || this.mood === 'silent') return
      if (this.mood === 'broken') {
        socket.terminate()
        return
      }
      const error = { type: 'server_error', code: null, message: 'no', param: null }
      if (this.mood === 'erring') {
        send({ type: 'error', error: { ...error, event_id: null } })
        return
      }
      const itemId = `item_${this.#nextItem++}`
      send({ type: 'input_audio_buffer.committed', item_id: itemId, previous_item_id: null })
      if (this.mood === 'failing') {
        const type = 'conversation.item.input_audio_transcription.failed'
        send({ type, item_id: itemId, content_index: 0, error })
        return
      }
      const text = this.texts.shift() ?? ''
      // Short utterances are recognised first, so answers come in another order than requests.
      setTimeout(() => {
        const about = { item_id: itemId, content_index: 0 }
        send({ type: 'conversation.item.input_audio_transcription.delta', ...about, delta: text.slice(0, 1) })
        send({ type: 'conversation.item.input_audio_transcription.completed', ...about, transcript: text })
      }, text.length * 5)
    })
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}
