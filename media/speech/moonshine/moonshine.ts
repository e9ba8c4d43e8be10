import { WorkerJobs } from '../../kernel/worker-jobs.ts'
import { workerEntry } from '../../protocol/worker-entry.ts'
import type { MoonshineAnswer, MoonshineJob } from '../moonshine-worker.ts'
import {
  type Following,
  isEnglish,
  type Manner,
  type SpeechOwner,
  type SpeechToText,
  shareOf,
  type Transcribable,
  type Understood,
} from '../speech-engines.ts'
import { Glances } from './glances.ts'

/** Utterances that may wait: what waits longer is of no use to a caller who waits for an answer. A further one fails. */
const MAX_WAITING = 10
/** Legs that speak at the same time; of more, some are looked at without a draft. */
const MAX_DRAFTS = 100
/** For one utterance, on a busy machine; what takes longer hangs [ms]. */
const MAX_JOB_MS = 50_000
/** With the loading of the model: never so short that a machine which is slow to load it begins again and again [ms]. */
const MAX_LOADING_MS = 300_000
/** Null: as many as it takes. */
const LOOK_OF: Readonly<Record<Manner, number | null>> = {
  ...{ whole: null, guess: null, glance: 0, skim: 0, peek: 0, peek2: 1, peek3: 2, peek4: 3 },
}
const BUSY = { error: 'busy' }

type Thread = Pick<WorkerJobs<MoonshineJob, MoonshineAnswer>, 'waiting' | 'run' | 'close'>

/** The offline ear: the Moonshine tiny model on one thread of its own, loaded with the first utterance or by `warmUp`. English. */
export class Moonshine implements SpeechToText {
  readonly guesses = true
  readonly #thread: Thread
  readonly #glances = new Glances()
  /** What was made of what a leg is saying, the oldest first. */
  readonly #drafts = new Map<string, string>()
  /** The glance that is being taken: who wants the same as a whole waits for it. */
  #glanced: { leg: string; length: number; answer: Promise<Understood | { error: string }> } | null = null
  /** How many wait for what the thread does now, which it sees between two looks. */
  readonly #others = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

  #isLoaded = false
  #loaded: Promise<number | { error: string }> | null = null

  /** @param thread absent: one of its own */
  constructor(thread?: Thread) {
    const maxJobMs = () => (this.#isLoaded ? MAX_JOB_MS : MAX_LOADING_MS)
    const entry = workerEntry('media/speech/moonshine-worker')
    this.#thread = thread ?? new WorkerJobs(entry, { maxWaiting: MAX_WAITING, maxJobMs })
  }

  understands(language: string | null): boolean {
    return isEnglish(language)
  }

  async transcribe(
    ...[samples, language, manner = 'whole', owner]: Transcribable
  ): Promise<Understood | { error: string }> {
    if (!isEnglish(language)) return { error: `the offline engine understands English, not ${language}` }
    const { length } = samples
    if (manner === 'whole' && this.#glanced?.leg === owner?.legId && this.#glanced?.length === length) {
      const known = await this.#glanced.answer
      if (!('error' in known)) return known
    }
    if (!(await this.#mayBegin(manner, owner))) return BUSY
    const answer = this.#run(samples, manner, owner)
    if (manner !== 'glance' || owner === undefined) return answer
    const glanced = { leg: owner.legId, length, answer }
    this.#glanced = glanced
    await answer
    if (this.#glanced === glanced) this.#glanced = null
    return answer
  }

  async #run(
    samples: Int16Array<ArrayBuffer>,
    manner: Manner,
    owner: SpeechOwner | undefined,
  ): Promise<Understood | { error: string }> {
    const look = LOOK_OF[manner]
    const draft = this.#draftOf(manner, owner)
    const asked = { samples, look, draft, givesWay: manner === 'skim', others: this.#others }
    const job = this.#thread.run(asked, [samples.buffer], shareOf(owner))
    this.#count()
    const answer = await job
    // A thread that died took the model along.
    this.#isLoaded = !('error' in answer)
    if (this.#thread.waiting === 0) this.#glances.next()
    this.#count()
    if ('error' in answer) return answer
    if ('givenUp' in answer) return BUSY
    const { text, confidence, isSure } = answer
    if (manner !== 'whole' && owner !== undefined) this.#keepDraft(owner.legId, text)
    return { text, engine: 'moonshine', confidence, ...(isSure === undefined ? {} : { isSure }) }
  }

  /** With the end of an utterance, what was made of its beginning is of no more use. */
  #draftOf(manner: Manner, owner: SpeechOwner | undefined): string {
    const leg = owner?.legId ?? ''
    const draft = this.#drafts.get(leg) ?? ''
    if (manner === 'whole') this.#drafts.delete(leg)
    return draft
  }

  #keepDraft(leg: string, text: string): void {
    this.#drafts.delete(leg)
    this.#drafts.set(leg, text)
    if (this.#drafts.size > MAX_DRAFTS) this.#drafts.delete(this.#drafts.keys().next().value!)
  }

  /** Whether there is time for it, now or soon. */
  async #mayBegin(manner: Manner, owner: SpeechOwner | undefined): Promise<boolean> {
    const leg = owner?.legId ?? ''
    const isFree = this.#thread.waiting === 0 && this.#glances.size === 0
    if (manner === 'whole') this.#glances.drop(leg)
    if (manner === 'whole' || isFree) return true
    if (manner !== 'glance') return false
    const turn = this.#glances.turn(leg)
    this.#count()
    return turn
  }

  #count(): void {
    Atomics.store(this.#others, 0, Math.max(0, this.#thread.waiting - 1) + this.#glances.size)
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
    const answer = await this.transcribe(new Int16Array(1), null)
    return 'error' in answer ? answer : Math.round(performance.now() - startedAt)
  }

  /** Idempotent. */
  close(): Promise<void> {
    return this.#thread.close()
  }
}
