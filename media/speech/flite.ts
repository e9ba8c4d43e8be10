import { availableParallelism } from 'node:os'
import { WorkerJobs } from '../kernel/worker-jobs.ts'
import { DEFAULT_OFFLINE_VOICE, OFFLINE_VOICES } from '../protocol/voices.ts'
import { workerEntry } from '../protocol/worker-entry.ts'
import type { FliteAnswer, FliteJob } from './flite-worker.ts'
import { isEnglish, type SpeechOwner, type Spoken, shareOf, type TextToSpeech } from './speech-engines.ts'

/** Sentences that may wait for one thread: some seconds of work; a further one fails. */
const MAX_WAITING = 50
const MAX_THREADS = 4
/** For one sentence; what takes longer hangs [ms]. */
const MAX_JOB_MS = 20_000

/** The offline voice: flite, on threads of its own, half of the cores and one at least. English. */
export class Flite implements TextToSpeech {
  readonly #threads: WorkerJobs<FliteJob, FliteAnswer>[]

  constructor(threads = Math.min(MAX_THREADS, Math.max(1, Math.floor(availableParallelism() / 2)))) {
    const entry = workerEntry('media/speech/flite-worker')
    this.#threads = Array.from(
      { length: threads },
      () => new WorkerJobs(entry, { maxWaiting: MAX_WAITING, maxJobMs: () => MAX_JOB_MS }),
    )
  }

  speaks(language: string | null): boolean {
    return isEnglish(language)
  }

  has(voice: string): boolean {
    return OFFLINE_VOICES.some(({ id }) => id === voice)
  }

  /** A voice that it does not have, that of a remote provider for example, is its default. */
  speak(
    text: string,
    voice: string | null,
    language: string | null,
    owner?: SpeechOwner,
    speed = 1,
  ): Promise<Spoken | { error: string }> {
    if (!this.speaks(language)) return Promise.resolve({ error: `the offline voice speaks English, not ${language}` })
    const least = this.#threads.reduce((a, b) => (b.waiting < a.waiting ? b : a))
    const known = voice !== null && this.has(voice) ? voice : DEFAULT_OFFLINE_VOICE
    return least.run({ text: text.replaceAll('\0', ' '), voice: known, speed }, [], shareOf(owner))
  }

  /** Starts its threads, so that the first sentence does not wait for them. */
  async warmUp(): Promise<void> {
    await Promise.all(this.#threads.map(thread => thread.run({ text: 'a', voice: DEFAULT_OFFLINE_VOICE, speed: 1 })))
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.map(thread => thread.close()))
  }
}
