import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import { workerEntry } from '../worker-entry.ts'
import type { FromSpeechThread, SpeechConfig, SpeechUse, ToSpeechThread } from './speech-protocol.ts'

/** The main thread's end of the speech thread: gives engine threads their ports, logs and counts what is used. */
export class SpeechHost {
  readonly #worker: Worker
  readonly #log: Pick<Logger, 'info' | 'warn'>
  readonly #uses = { speak: 0, transcribe: 0, failed: 0, characters: 0, seconds: 0 }
  #closed: (() => void) | null = null

  /** @param failed the thread died, which only a mistake of ours brings about */
  constructor(config: SpeechConfig, log: Pick<Logger, 'info' | 'warn'>, failed: (error: Error) => void) {
    const { url, execArgv } = workerEntry('speech-thread', import.meta.url)
    this.#log = log
    this.#worker = new Worker(url, { workerData: config, execArgv })
    this.#worker.on('message', (message: FromSpeechThread) => this.#told(message))
    this.#worker.on('error', error => failed(error as Error))
  }

  /** Since the start, for the metrics. */
  get counters(): Record<string, number> {
    const { speak, transcribe, failed, characters, seconds } = this.#uses
    return {
      speech_spoken_total: speak,
      speech_understood_total: transcribe,
      speech_failed_total: failed,
      speech_characters_total: characters,
      speech_seconds_total: Math.round(seconds),
    }
  }

  /** A port for one engine thread, to be handed over to it. */
  port(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    this.#worker.postMessage({ kind: 'port', port: port1 } satisfies ToSpeechThread, [port1])
    return port2
  }

  #told(message: FromSpeechThread): void {
    if (message.kind === 'closed') this.#closed?.()
    else if (message.kind === 'used') this.#count(message.use)
    else if (message.kind === 'loaded')
      this.#log.info({ engine: message.engine, tookMs: message.tookMs }, 'speech.loaded')
    else this.#log.warn({ engine: message.engine, error: message.error }, 'speech.failed')
  }

  /** The text itself is in no line: it may hold what the caller said. */
  #count(use: SpeechUse): void {
    this.#uses.characters += use.characters
    this.#uses.seconds += use.seconds
    if (use.error === null) {
      this.#uses[use.kind]++
      this.#log.info(use, 'speech.used')
    } else {
      this.#uses.failed++
      this.#log.warn(use, 'speech.failed')
    }
  }

  async close(): Promise<void> {
    await new Promise<void>(resolve => {
      this.#closed = resolve
      this.#worker.postMessage({ kind: 'close' } satisfies ToSpeechThread)
    })
    await this.#worker.terminate()
  }
}
