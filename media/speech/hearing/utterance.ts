import type { Following, Manner, SpeechOwner, SpeechToText, Understood } from '../speech-engines.ts'
import { LiveWords } from './live-words.ts'
import { isWordless } from './words.ts'

/** Longer ones are not guessed at: each pause in them would cost as much again [samples at 8 kHz]. */
const MAX_GUESSED = 8 * 8000

type Answer = Understood | { error: string }

/**
 * One utterance from its first voice on. An engine that takes audio as it comes gets it so; one that guesses is asked at each pause, and
 * when that was the end the words are there, or on their way, before the silence is long enough to say so.
 */
export class Utterance {
  readonly #stt: SpeechToText
  readonly #language: string | null
  readonly #owner: SpeechOwner
  readonly #following: Following | null
  readonly #live: LiveWords | null
  /** Samples that were given to it. */
  #given = 0
  /** Whether it holds words: null while nobody knows, or is being asked. */
  #isSpeech: boolean | null = null
  #isAsked = false
  #guess: { length: number; answer: Promise<Answer> } | null = null

  /** @param isLive its words are wanted while it is said */
  constructor(stt: SpeechToText, language: string | null, owner: SpeechOwner, isLive: boolean) {
    this.#stt = stt
    this.#language = language
    this.#owner = owner
    this.#following = stt.follow(language, owner)
    this.#live = isLive && stt.guesses ? new LiveWords((samples, manner) => this.#ask(samples, manner)) : null
  }

  /**
   * More was said; `samples` is all of it so far, borrowed, with `silenceMs` since its last voice. `tell`: what it may be, for who wants it
   * while it is said.
   */
  grow(samples: Int16Array, silenceMs = 0, tell: (text: string) => void = () => {}): void {
    this.#live?.grew(samples, silenceMs, tell)
    if (this.#following === null || samples.length <= this.#given) return
    this.#following.append(samples.subarray(this.#given))
    this.#given = samples.length
  }

  /** Nothing more has been said for a moment; `said` gives what was. `tell`: what it may have been. */
  pause(said: () => Int16Array<ArrayBuffer>, tell: (text: string) => void): void {
    if (!this.#stt.guesses) return
    const samples = said()
    if (this.#live !== null) this.#live.paused(samples, tell)
    else if (samples.length <= MAX_GUESSED) this.#guessAt(samples, tell)
  }

  #guessAt(samples: Int16Array<ArrayBuffer>, tell: (text: string) => void): void {
    const { length } = samples
    this.#guess = { length, answer: this.#ask(samples, 'guess') }
    void this.#guess.answer.then(answer => {
      if (!('error' in answer) && answer.text.trim() !== '') tell(answer.text.trim())
    })
  }

  /**
   * It lasts; `said` gives what was said so far. Whether that is no speech, as far as anybody can tell.
   * @param isWorthAsking an engine that is paid for each question is asked, too
   */
  async isNoise(said: () => Int16Array<ArrayBuffer>, isWorthAsking: boolean): Promise<boolean> {
    if (this.#live?.hasWords === true) this.#isSpeech = true
    if (this.#isSpeech !== null || this.#isAsked || !(this.#stt.guesses || isWorthAsking)) return false
    this.#isAsked = true
    const answer = await this.#ask(said(), this.#stt.guesses ? 'guess' : 'whole')
    this.#isAsked = false
    if (!('error' in answer)) this.#isSpeech = !isWordless(answer.text)
    return this.#isSpeech === false
  }

  /** All of it, which is handed over; what was guessed of just that is the answer. */
  async end(samples: Int16Array<ArrayBuffer>): Promise<Answer> {
    if (this.#following !== null) {
      this.grow(samples)
      return this.#following.end(samples)
    }
    if (this.#live !== null) return this.#live.end(samples)
    if (this.#guess?.length === samples.length) {
      const guessed = await this.#guess.answer
      if (!('error' in guessed)) return guessed
    }
    return this.#ask(samples, 'whole')
  }

  #ask(samples: Int16Array<ArrayBuffer>, manner: Manner): Promise<Answer> {
    return this.#stt.transcribe(samples, this.#language, manner, this.#owner)
  }

  /** It is none, or a secret: what the engine has of it is forgotten. */
  drop(): void {
    this.#following?.drop()
    this.#guess = null
  }
}
