import { workerEntry } from '../../kernel/worker-entry.ts'
import { WorkerJobs } from '../../kernel/worker-jobs.ts'
import {
  type Following,
  isEnglish,
  type SpeechToText,
  shareOf,
  type Transcribable,
  type Understood,
} from '../speech-engines.ts'
import type { MoonshineAnswer, MoonshineJob } from './moonshine-worker.ts'

/** Utterances that may wait: what waits longer is of no use to a caller who waits for an answer. A further one fails. */
const MAX_WAITING = 10
/** For one utterance, on a busy machine; what takes longer hangs [ms]. */
const MAX_JOB_MS = 50_000
/** With the loading of the model: never so short that a machine which is slow to load it begins again and again [ms]. */
const MAX_LOADING_MS = 300_000

/** The offline ear: the Moonshine tiny model on one thread of its own, loaded with the first utterance or by `warmUp`. English. */
export class Moonshine implements SpeechToText {
  readonly guesses = true
  readonly #thread = new WorkerJobs<MoonshineJob, MoonshineAnswer>(
    workerEntry('media/speech/moonshine/moonshine-worker'),
    {
      maxWaiting: MAX_WAITING,
      maxJobMs: () => (this.#isLoaded ? MAX_JOB_MS : MAX_LOADING_MS),
    },
  )

  #isLoaded = false
  #loaded: Promise<number | { error: string }> | null = null

  understands(language: string | null): boolean {
    return isEnglish(language)
  }

  async transcribe(
    ...[samples, language, isGuess = false, owner]: Transcribable
  ): Promise<Understood | { error: string }> {
    if (!isEnglish(language)) return { error: `the offline engine understands English, not ${language}` }
    if (isGuess && this.#thread.waiting > 0) return { error: 'busy' }
    const answer = await this.#thread.run({ samples }, [samples.buffer], shareOf(owner))
    // A thread that died took the model along.
    this.#isLoaded = !('error' in answer)
    return 'error' in answer ? answer : { text: answer.text, engine: 'moonshine' }
  }

  /** Its model wants each utterance as a whole. */
  follow(): Following | null {
    return null
  }

  /** Loads the model, if nobody has. */
  prepare(): void {
    this.#loaded ??= this.#load()
  }

  /** The same, and resolves with how long it took [ms], or with why it cannot be loaded. */
  warmUp(): Promise<number | { error: string }> {
    this.#loaded ??= this.#load()
    return this.#loaded
  }

  async #load(): Promise<number | { error: string }> {
    const startedAt = performance.now()
    const answer = await this.#thread.run({ samples: new Int16Array(1) }, [])
    return 'error' in answer ? answer : Math.round(performance.now() - startedAt)
  }

  /** Idempotent. */
  close(): Promise<void> {
    return this.#thread.close()
  }
}
