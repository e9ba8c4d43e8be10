import { NARROWBAND_HZ } from '../../../codecs/audio.ts'
import { type CreateResampler, loadResampler } from '../../../codecs/resample.ts'
import { FairShares } from '../../protocol.ts'
import { type Following, type Manner, type SpeechOwner, type SpeechToText, shareOf } from '../speech-engines.ts'
import { type Answer, type RealtimeProvider, RealtimeSession } from './realtime-session.ts'

/**
 * Utterances that may be on their way at a time, each over a connection of its own, half of them by one organisation alone; a further
 * one fails.
 */
const MAX_SESSIONS = 100
/** A connection that nobody speaks over is kept for the next utterance so long [ms]. */
const IDLE_MS = 60_000
/** Providers end a session after an hour, in the middle of a word if need be [ms]. */
const MAX_AGE_MS = 45 * 60_000
/** An utterance that is longer was given up by whoever began it [samples]. */
const MAX_SAMPLES = 120 * NARROWBAND_HZ

interface Idle {
  session: RealtimeSession
  timer: NodeJS.Timeout
}

/** A provider's ear over realtime WebSockets: it hears each utterance while it is said. */
export class RealtimeTranscription implements SpeechToText {
  readonly guesses = false
  readonly #provider: RealtimeProvider
  readonly #idle: Idle[] = []
  readonly #shares = new FairShares(MAX_SESSIONS)
  /** All, with when they were opened [ms]. */
  readonly #sessions = new Map<RealtimeSession, number>()
  readonly #resampler: Promise<CreateResampler> = loadResampler()
  #createResampler: CreateResampler | null = null

  constructor(provider: RealtimeProvider) {
    this.#provider = provider
    void this.#load()
  }

  understands(): boolean {
    return true
  }

  prepare(): void {}

  async transcribe(
    samples: Int16Array<ArrayBuffer>,
    language: string | null,
    _manner?: Manner,
    owner?: SpeechOwner,
  ): Promise<Answer> {
    await this.#load()
    return this.follow(language, owner)?.end(samples) ?? { error: 'realtime: too many utterances wait' }
  }

  follow(language: string | null, owner?: SpeechOwner): Following | null {
    const share = shareOf(owner)
    const session = this.#shares.mayTake(share) ? this.#take() : null
    if (session === null) return null
    this.#shares.take(share)
    session.begin(language)
    let given = 0
    const append = (samples: Int16Array): void => {
      given += samples.length
      if (given > MAX_SAMPLES) session.break('an utterance without end')
      else session.append(samples)
    }
    return {
      append,
      end: async samples => {
        append(samples.subarray(given))
        const answer = await session.commit()
        this.#release(session, share)
        return answer
      },
      drop: () => {
        session.clear()
        this.#release(session, share)
      },
    }
  }

  async #load(): Promise<void> {
    this.#createResampler ??= await this.#resampler
  }

  #take(): RealtimeSession | null {
    const idle = this.#idle.pop()
    if (idle !== undefined) {
      clearTimeout(idle.timer)
      return idle.session
    }
    if (this.#sessions.size >= MAX_SESSIONS || this.#createResampler === null) return null
    const session: RealtimeSession = new RealtimeSession(this.#provider, this.#createResampler, () =>
      this.#forget(session),
    )
    this.#sessions.set(session, performance.now())
    return session
  }

  #release(session: RealtimeSession, share: string): void {
    this.#shares.giveBack(share)
    const openedAt = this.#sessions.get(session)
    if (openedAt === undefined) return
    if (performance.now() - openedAt > MAX_AGE_MS) session.break('closed')
    else this.#idle.push({ session, timer: setTimeout(() => session.break('closed'), IDLE_MS).unref() })
  }

  #forget(session: RealtimeSession): void {
    this.#sessions.delete(session)
    const at = this.#idle.findIndex(idle => idle.session === session)
    if (at >= 0) clearTimeout(this.#idle.splice(at, 1)[0]!.timer)
  }

  /** Idempotent. */
  close(): void {
    for (const session of [...this.#sessions.keys()]) session.break('closed')
  }
}
