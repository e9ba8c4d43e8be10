import type { MessagePort } from 'node:worker_threads'
import { isEnglish, type SpeechToText, type Spoken, type TextToSpeech, type Understood } from './speech-engines.ts'
import type { SpeechReply, SpeechRequest } from './speech-protocol.ts'

/** Requests of one engine thread that may be open; a further one fails at once. */
const MAX_OPEN = 1000

type Ask = SpeechRequest extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never

/** An engine thread's way to the speech thread: nothing is computed here. */
export class SpeechClient implements TextToSpeech, SpeechToText {
  readonly #port: MessagePort
  readonly #understandsAll: boolean
  readonly #open = new Map<number, (answer: SpeechReply['answer']) => void>()
  #nextId = 1
  #isPrepared = false

  /** @param understandsAll whether a remote engine is there, which takes any language */
  constructor(port: MessagePort, understandsAll: boolean) {
    this.#port = port
    this.#understandsAll = understandsAll
    port.on('message', ({ id, answer }: SpeechReply) => {
      this.#open.get(id)?.(answer)
      this.#open.delete(id)
    })
  }

  understands(language: string | null): boolean {
    return this.#understandsAll || isEnglish(language)
  }

  prepare(): void {
    if (this.#isPrepared) return
    this.#isPrepared = true
    this.#port.postMessage({ kind: 'prepare', id: 0 } satisfies SpeechRequest)
  }

  speak(text: string, voice: string | null, language: string | null): Promise<Spoken | { error: string }> {
    return this.#ask({ kind: 'speak', text, voice, language }, []) as Promise<Spoken | { error: string }>
  }

  transcribe(samples: Int16Array<ArrayBuffer>, language: string | null): Promise<Understood | { error: string }> {
    const ask: Ask = { kind: 'transcribe', samples, language }
    return this.#ask(ask, [samples.buffer]) as Promise<Understood | { error: string }>
  }

  #ask(ask: Ask, moved: ArrayBuffer[]): Promise<SpeechReply['answer']> {
    if (this.#open.size >= MAX_OPEN) return Promise.resolve({ error: 'too much speech waits' })
    return new Promise(resolve => {
      const id = this.#nextId++
      this.#open.set(id, resolve)
      this.#port.postMessage({ ...ask, id } satisfies SpeechRequest, moved)
    })
  }
}
