import WebSocket from 'ws'
import { REMOTE_HZ, toRemote } from './remote-audio.ts'
import type { SpeechToText, Understood } from './speech-engines.ts'

export interface RealtimeProvider {
  /** `wss://…`, with its query. */
  url: string
  key: string | null
  model: string
  /** For one utterance, the connection included [ms]. */
  timeoutMs: number
}

/** Utterances that may wait for their words; a further one fails. */
const MAX_OPEN = 50
/** Audio in one message [bytes]. */
const CHUNK_BYTES = 96_000
const MAX_MESSAGE_BYTES = 1024 * 1024

type Answer = Understood | { error: string }

interface Open {
  /** The provider's name for it, once it has taken it. */
  itemId: string | null
  resolve: (answer: Answer) => void
}

/**
 * A provider's ear over the realtime WebSocket of OpenAI's API: one connection for all utterances, opened with the first and again
 * after it broke. Each is appended and committed as a whole; the provider takes them in our order and answers by name.
 */
export class RealtimeTranscription implements SpeechToText {
  readonly #provider: RealtimeProvider
  readonly #open: Open[] = []
  #socket: WebSocket | null = null
  #opened: Promise<boolean> = Promise.resolve(false)
  /** The language that the session was told last. */
  #language: string | null | undefined

  constructor(provider: RealtimeProvider) {
    this.#provider = provider
  }

  understands(): boolean {
    return true
  }

  prepare(): void {}

  async transcribe(samples: Int16Array<ArrayBuffer>, language: string | null): Promise<Answer> {
    if (this.#open.length >= MAX_OPEN) return { error: 'realtime: too many utterances wait' }
    const { timeoutMs } = this.#provider
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<Answer>(resolve => {
      timer = setTimeout(() => {
        resolve({ error: `realtime: no answer within ${timeoutMs} ms` })
        // What comes late would be taken for the answer to another.
        this.#drop('too slow')
      }, timeoutMs)
    })
    const answer = await Promise.race([this.#transcribe(samples, language), late])
    clearTimeout(timer)
    return answer
  }

  async #transcribe(samples: Int16Array, language: string | null): Promise<Answer> {
    const audio = await toRemote(samples)
    const socket = this.#connect()
    if (!(await this.#opened) || socket !== this.#socket) return { error: 'realtime: no connection' }
    return new Promise(resolve => {
      if (language !== this.#language) this.#configure(socket, language)
      this.#open.push({ itemId: null, resolve })
      for (let at = 0; at < audio.length; at += CHUNK_BYTES) {
        const chunk = audio.subarray(at, at + CHUNK_BYTES).toString('base64')
        send(socket, { type: 'input_audio_buffer.append', audio: chunk })
      }
      send(socket, { type: 'input_audio_buffer.commit' })
    })
  }

  #configure(socket: WebSocket, language: string | null): void {
    this.#language = language
    const transcription = {
      model: this.#provider.model,
      ...(language === null ? {} : { language: language.split('-')[0] }),
    }
    const input = { format: { type: 'audio/pcm', rate: REMOTE_HZ }, transcription, turn_detection: null }
    send(socket, { type: 'session.update', session: { type: 'transcription', audio: { input } } })
  }

  #connect(): WebSocket {
    if (this.#socket !== null) return this.#socket
    const { url, key, timeoutMs } = this.#provider
    const socket = new WebSocket(url, {
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
      handshakeTimeout: timeoutMs,
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
    })
    this.#socket = socket
    this.#language = undefined
    this.#opened = new Promise(resolve => {
      socket.on('open', () => resolve(true))
      socket.on('close', () => resolve(false))
    })
    socket.on('message', data => this.#told(String(data)))
    socket.on('error', () => {})
    socket.on('close', () => {
      if (socket === this.#socket) this.#drop('the connection broke')
    })
    return socket
  }

  #told(text: string): void {
    const message = parse(text)
    const itemId = String(message.item_id)
    switch (message.type) {
      case 'input_audio_buffer.committed': {
        const next = this.#open.find(open => open.itemId === null)
        if (next !== undefined) next.itemId = itemId
        break
      }
      case 'conversation.item.input_audio_transcription.completed':
        this.#settle(itemId, { text: String(message.transcript ?? ''), engine: this.#provider.model })
        break
      case 'conversation.item.input_audio_transcription.failed':
        this.#settle(itemId, { error: 'realtime: the provider could not make it out' })
        break
      case 'error':
        // It names no utterance: none of those that wait can be trusted.
        this.#drop('the provider reported an error')
        break
    }
  }

  #settle(itemId: string, answer: Answer): void {
    const at = this.#open.findIndex(open => open.itemId === itemId)
    if (at >= 0) this.#open.splice(at, 1)[0]!.resolve(answer)
  }

  #drop(reason: string): void {
    const socket = this.#socket
    this.#socket = null
    socket?.terminate()
    for (const { resolve } of this.#open.splice(0)) resolve({ error: `realtime: ${reason}` })
  }

  /** Idempotent. */
  close(): void {
    this.#drop('closed')
  }
}

const send = (socket: WebSocket, message: object): void => {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
