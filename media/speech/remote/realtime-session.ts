import WebSocket from 'ws'
import { NARROWBAND_HZ } from '../../../codecs/audio.ts'
import type { CreateResampler, Resampler } from '../../../codecs/resample.ts'
import type { Understood } from '../speech-engines.ts'
import { REMOTE_HZ, toRemoteBytes } from './remote-audio.ts'

export interface RealtimeProvider {
  /** `wss://…`, with its query. */
  url: string
  key: string | null
  model: string
  /** From the end of an utterance to its words, and for the connection [ms]. */
  timeoutMs: number
}

/** Audio in one message [samples at 8 kHz]. */
const CHUNK_SAMPLES = 2 * NARROWBAND_HZ
/** Messages that wait for the connection, and bytes that wait in it: a minute of audio, and far more than any utterance. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024
const MAX_MESSAGE_BYTES = 1024 * 1024

export type Answer = Understood | { error: string }

/**
 * One connection to the realtime WebSocket of OpenAI's API, for one utterance at a time: appended as it is said, committed at its end.
 * It is broken by whatever goes wrong, since what comes late would be taken for the answer to another utterance.
 */
export class RealtimeSession {
  readonly #provider: RealtimeProvider
  readonly #createResampler: CreateResampler
  readonly #socket: WebSocket
  readonly #closed: () => void
  /** Until the connection is open. */
  #unsent: string[] = []
  #unsentBytes = 0
  /** The language that the session was told last. */
  #language: string | null | undefined
  #resampler: Resampler | null = null
  /** The provider's name for what was committed, once it has taken it. */
  #itemId: string | null = null
  #resolve: ((answer: Answer) => void) | null = null
  #error: string | null = null

  /** @param closed it is broken or closed; called once */
  constructor(provider: RealtimeProvider, createResampler: CreateResampler, closed: () => void) {
    this.#provider = provider
    this.#createResampler = createResampler
    this.#closed = closed
    const { url, key, timeoutMs } = provider
    this.#socket = new WebSocket(url, {
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
      handshakeTimeout: timeoutMs,
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
    })
    let wasOpen = false
    this.#socket.on('open', () => {
      wasOpen = true
      for (const message of this.#unsent) this.#socket.send(message)
      this.#unsent = []
    })
    this.#socket.on('message', data => this.#told(String(data)))
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => this.break(wasOpen ? 'the connection broke' : 'no connection'))
  }

  /** Why it is of no use any more; null: it is. */
  get error(): string | null {
    return this.#error
  }

  /** An utterance begins. */
  begin(language: string | null): void {
    this.#itemId = null
    this.#resampler = this.#createResampler(NARROWBAND_HZ, REMOTE_HZ)
    if (language === this.#language) return
    this.#language = language
    const transcription = {
      model: this.#provider.model,
      ...(language === null ? {} : { language: language.split('-')[0] }),
    }
    const input = { format: { type: 'audio/pcm', rate: REMOTE_HZ }, transcription, turn_detection: null }
    this.#send({ type: 'session.update', session: { type: 'transcription', audio: { input } } })
  }

  /** Mono at 8 kHz, borrowed. */
  append(samples: Int16Array): void {
    for (let at = 0; at < samples.length; at += CHUNK_SAMPLES) {
      const wide = this.#resampler?.process(samples.subarray(at, at + CHUNK_SAMPLES)) ?? new Int16Array(0)
      if (wide.length > 0)
        this.#send({ type: 'input_audio_buffer.append', audio: toRemoteBytes(wide).toString('base64') })
    }
  }

  /** All was appended. Never rejects. */
  commit(): Promise<Answer> {
    if (this.#error !== null) return Promise.resolve({ error: this.#error })
    const { timeoutMs } = this.#provider
    return new Promise(resolve => {
      const timer = setTimeout(() => this.break(`no answer within ${timeoutMs} ms`), timeoutMs)
      this.#resolve = answer => {
        clearTimeout(timer)
        resolve(answer)
      }
      // What the resampler still holds of the last sounds.
      this.append(new Int16Array(NARROWBAND_HZ / 50))
      this.#endAudio()
      this.#send({ type: 'input_audio_buffer.commit' })
    })
  }

  /** What was appended is forgotten. */
  clear(): void {
    this.#endAudio()
    this.#send({ type: 'input_audio_buffer.clear' })
  }

  #endAudio(): void {
    this.#resampler?.close()
    this.#resampler = null
  }

  #send(message: object): void {
    if (this.#error !== null) return
    const text = JSON.stringify(message)
    const isOpen = this.#socket.readyState === WebSocket.OPEN
    if (isOpen) this.#socket.send(text)
    else {
      this.#unsent.push(text)
      this.#unsentBytes += text.length
    }
    const waiting = isOpen ? this.#socket.bufferedAmount : this.#unsentBytes
    if (waiting > MAX_UNSENT_BYTES) this.break('the provider does not take the audio')
  }

  #told(text: string): void {
    const message = parse(text)
    const isOurs = this.#resolve !== null && this.#itemId !== null && message.item_id === this.#itemId
    switch (message.type) {
      case 'input_audio_buffer.committed':
        if (this.#resolve !== null) this.#itemId ??= String(message.item_id)
        break
      case 'conversation.item.input_audio_transcription.completed':
        if (isOurs) this.#settle({ text: String(message.transcript ?? ''), engine: this.#provider.model })
        break
      case 'conversation.item.input_audio_transcription.failed':
        if (isOurs) this.#settle({ error: 'realtime: the provider could not make it out' })
        break
      case 'error':
        this.break('the provider reported an error')
        break
    }
  }

  #settle(answer: Answer): void {
    const resolve = this.#resolve
    this.#resolve = null
    resolve?.(answer)
  }

  /** Ends the connection; who waits for words gets the reason. Idempotent. */
  break(reason: string): void {
    if (this.#error !== null) return
    this.#error = `realtime: ${reason}`
    this.#unsent = []
    this.#endAudio()
    this.#socket.terminate()
    this.#closed()
    this.#settle({ error: this.#error })
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
