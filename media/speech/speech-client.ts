import type { MessagePort } from 'node:worker_threads'
import { FairShares } from '../protocol.ts'
import {
  type Following,
  isEnglish,
  type Manner,
  type Speech,
  type SpeechOwner,
  type SpeechToText,
  type Spoken,
  shareOf,
  type TextToSpeech,
  type Transcribable,
  type Understood,
} from './speech-engines.ts'
import type { SpeechAbilities, SpeechQuestion, SpeechReply, SpeechRequest } from './speech-protocol.ts'

/** Requests of one engine thread that may be open, half of them by one organisation alone; a further one fails at once. */
const MAX_OPEN = 2000

/** An engine thread's way to the speech process: nothing is computed here. */
export class SpeechClient implements TextToSpeech, SpeechToText {
  readonly guesses: boolean
  readonly #port: MessagePort
  readonly #abilities: SpeechAbilities
  readonly #open = new Map<number, (answer: SpeechReply['answer']) => void>()
  readonly #shares = new FairShares(MAX_OPEN)
  #nextId = 1
  #isPrepared = false

  constructor(port: MessagePort, abilities: SpeechAbilities) {
    this.#port = port
    this.#abilities = abilities
    this.guesses = abilities.early === 'guess'
    port.on('message', ({ id, answer }: SpeechReply) => {
      this.#open.get(id)?.(answer)
      this.#open.delete(id)
    })
  }

  speaks(language: string | null): boolean {
    return this.#abilities.speaksAll || isEnglish(language)
  }

  understands(language: string | null): boolean {
    return this.#abilities.understandsAll || isEnglish(language)
  }

  prepare(): void {
    if (this.#isPrepared) return
    this.#isPrepared = true
    this.#tell({ kind: 'prepare', id: 0 })
  }

  speak(...[text, voice, language, owner, speed]: Speech): Promise<Spoken | { error: string }> {
    const id = this.#nextId++
    const manner = { voice, language, ...(speed === undefined ? {} : { speed }) }
    const question: SpeechQuestion = { id, kind: 'speak', text, ...manner, ...given(owner) }
    return this.#ask(question, []) as Promise<Spoken | { error: string }>
  }

  transcribe(...[samples, language, manner = 'whole', owner]: Transcribable): Promise<Understood | { error: string }> {
    return this.#transcribe(this.#nextId++, samples, language, manner, owner)
  }

  follow(language: string | null, owner?: SpeechOwner): Following | null {
    if (this.#abilities.early !== 'stream') return null
    const id = this.#nextId++
    let at = 0
    return {
      append: samples => {
        const own = samples.slice()
        this.#tell({ kind: 'append', id, at, samples: own, language, ...given(owner) }, [own.buffer])
        at += samples.length
      },
      end: samples => this.#transcribe(id, samples, language, 'whole', owner),
      drop: () => this.#tell({ kind: 'drop', id }),
    }
  }

  #transcribe(
    id: number,
    samples: Int16Array<ArrayBuffer>,
    language: string | null,
    manner: Manner,
    owner: SpeechOwner | undefined,
  ) {
    const question: SpeechQuestion = { id, kind: 'transcribe', samples, language, manner, ...given(owner) }
    return this.#ask(question, [samples.buffer]) as Promise<Understood | { error: string }>
  }

  #ask(question: SpeechQuestion, moved: ArrayBuffer[]): Promise<SpeechReply['answer']> {
    const share = shareOf(question.owner)
    if (!this.#shares.mayTake(share)) {
      this.#tell({ kind: 'drop', id: question.id })
      return Promise.resolve({ error: 'too much speech waits' })
    }
    this.#shares.take(share)
    return new Promise(resolve => {
      this.#open.set(question.id, answer => {
        this.#shares.giveBack(share)
        resolve(answer)
      })
      this.#tell(question, moved)
    })
  }

  #tell(request: SpeechRequest, moved: ArrayBuffer[] = []): void {
    this.#port.postMessage(request, moved)
  }
}

const given = (owner: SpeechOwner | undefined) => (owner === undefined ? {} : { owner })
