import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { resampleAll } from '../../codecs/resample.ts'
import { lookWhileWanted, surest } from '../../media/speech/hearing/looks.ts'
import { MODEL_HZ, type MoonshineModel, type Transcription } from '../../media/speech/moonshine/moonshine-model.ts'
import type { MoonshineAnswer, MoonshineJob } from '../../media/speech/moonshine-worker.ts'

/** About the share of encoding in the duration of a look; until then a look is not aborted. */
const ENCODING = 0.6

/** A clock that moves only by `moveTo`, and waits for whatever computes meanwhile. */
export class VirtualClock {
  now = 0
  /** The computation that the clock waits for. */
  #computing: Promise<unknown> | null = null
  readonly #timers: { at: number; ring: () => void }[] = []

  /** Runs a computation, for which the clock waits. */
  async still<T>(compute: () => Promise<T>): Promise<T> {
    const computing = compute()
    this.#computing = computing
    const result = await computing
    this.#computing = null
    return result
  }

  /** Resolves after `ms` of this clock's time. */
  pass(ms: number): Promise<void> {
    return new Promise(ring => this.#timers.push({ at: this.now + ms, ring }))
  }

  /** Moves the clock; resolves when everything that follows from that has been done. */
  async moveTo(now: number): Promise<void> {
    this.now = now
    for (const timer of this.#timers.filter(({ at }) => at <= now)) {
      this.#timers.splice(this.#timers.indexOf(timer), 1)
      timer.ring()
    }
    do {
      await this.#computing
      await new Promise(resolve => setImmediate(resolve))
    } while (this.#computing !== null)
  }
}

/**
 * The recogniser's thread on a virtual clock: the real model, of which each look takes as much of the clock's time as it took CPU time. So a busy machine
 * changes nothing. A second look at the same audio with the same draft is not computed again.
 */
export class VirtualThread {
  cpuMs = 0
  readonly #clock: VirtualClock
  readonly #model: MoonshineModel
  readonly #known: Map<string, { made: Transcription; ms: number }>
  #last: Promise<unknown> = Promise.resolve()
  waiting = 0

  constructor(clock: VirtualClock, model: MoonshineModel, known: Map<string, { made: Transcription; ms: number }>) {
    this.#clock = clock
    this.#model = model
    this.#known = known
  }

  run(job: MoonshineJob): Promise<MoonshineAnswer> {
    this.waiting++
    const answer = this.#last.then(() => this.#do(job))
    this.#last = answer
    return answer
  }

  async #do({ samples, look, draft, givesWay, others }: MoonshineJob): Promise<MoonshineAnswer> {
    const wide = await this.#clock.still(() => resampleAll(samples, NARROWBAND_HZ, MODEL_HZ))
    const audio = Float32Array.from(wide, sample => sample / 32_768)
    const model = {
      transcribe: (shown: Float32Array, guess?: string, isWanted?: () => boolean) =>
        this.#look(shown, guess ?? '', isWanted ?? (() => true)),
    }
    const isAwaited = (): boolean => Atomics.load(others, 0) > 0
    const answer = await (look === null
      ? surest(model, audio, isAwaited, draft)
      : lookWhileWanted(model, audio, look, { draft, isWanted: () => !(givesWay && isAwaited()) }))
    this.waiting--
    return answer
  }

  async #look(samples: Float32Array, draft: string, isWanted: () => boolean): Promise<Transcription> {
    const key = draft + Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength).toString('latin1')
    let known = this.#known.get(key)
    if (known === undefined) {
      known = await this.#clock.still(() => this.#compute(samples, draft))
      this.#known.set(key, known)
    }
    await this.#take(ENCODING * known.ms)
    if (isWanted()) await this.#take((1 - ENCODING) * known.ms)
    return known.made
  }

  async #take(ms: number): Promise<void> {
    this.cpuMs += ms
    await this.#clock.pass(ms)
  }

  async #compute(samples: Float32Array, draft: string): Promise<{ made: Transcription; ms: number }> {
    const before = process.cpuUsage()
    const made = await this.#model.transcribe(samples, draft)
    const { user, system } = process.cpuUsage(before)
    return { made, ms: (user + system) / 1000 }
  }

  async close(): Promise<void> {}
}
