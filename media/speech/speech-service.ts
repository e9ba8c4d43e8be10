import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import type {
  Following,
  Speech,
  SpeechOwner,
  SpeechToText,
  Spoken,
  TextToSpeech,
  Transcribable,
  Understood,
} from './speech-engines.ts'
import type { SpeechUse } from './speech-protocol.ts'

/** An engine with the name that the log knows it by. */
export interface Named<E> {
  name: string
  engine: E
}

interface SpeechServiceOptions {
  /** Tried in this order; the last is the offline one. */
  tts: Named<TextToSpeech>[]
  stt: Named<SpeechToText>[]
  /** Told of each use, failed ones too. */
  used: (use: SpeechUse) => void
  /** Monotonic [ms]. */
  now: () => number
}

interface Said {
  samples: Int16Array<ArrayBuffer>
  language: string | null
  owner: SpeechOwner | undefined
}

/** Speaks and understands with the first engine that can, and tells what each use cost. */
export class SpeechService implements TextToSpeech, SpeechToText {
  readonly #options: SpeechServiceOptions

  constructor(options: SpeechServiceOptions) {
    this.#options = options
  }

  speaks(language: string | null): boolean {
    return this.#options.tts.some(({ engine }) => engine.speaks(language))
  }

  understands(language: string | null): boolean {
    return this.#options.stt.some(({ engine }) => engine.understands(language))
  }

  /** The first alone: another one is loaded when it must help out. */
  prepare(): void {
    this.#options.stt[0]?.engine.prepare()
  }

  /** An engine that does not know the language has not failed; where none knows it, the last one says so. */
  async speak(...[text, voice, language, owner, speed]: Speech): Promise<Spoken | { error: string }> {
    const use = { kind: 'speak' as const, characters: text.length, seconds: 0 }
    const able = this.#options.tts.filter(({ engine }) => engine.speaks(language))
    const known = able.length > 0 ? able : this.#options.tts.slice(-1)
    // Whose voice it is speaks first, in whichever order they are asked otherwise.
    const hasVoice = ({ engine }: Named<TextToSpeech>): number =>
      voice !== null && engine.has?.(voice) === true ? 0 : 1
    const engines = known.toSorted((a, b) => hasVoice(a) - hasVoice(b))
    return this.#first(engines, use, engine => engine.speak(text, voice, language, owner, speed))
  }

  /** Of a guess: whether the first engine does. */
  get guesses(): boolean {
    return this.#options.stt[0]?.engine.guesses === true
  }

  async transcribe(
    ...[samples, language, manner = 'whole', owner]: Transcribable
  ): Promise<Understood | { error: string }> {
    const able = this.#able(language)
    if (manner !== 'whole') return this.#guess(able[0], [samples, language, manner, owner])
    return this.#transcribe(able, { samples, language, owner }, null)
  }

  /** One that is refused cost nothing and failed nobody: it is not told of. */
  async #guess(
    able: Named<SpeechToText> | undefined,
    [samples, ...how]: Transcribable,
  ): Promise<Understood | { error: string }> {
    if (able === undefined) return { error: 'no engine knows this language' }
    const startedAt = this.#options.now()
    const seconds = samples.length / NARROWBAND_HZ
    const answer = await able.engine.transcribe(samples, ...how)
    const tookMs = Math.round(this.#options.now() - startedAt)
    const use = { kind: 'transcribe' as const, engine: able.name, characters: 0, seconds, tookMs, error: null }
    if (!('error' in answer)) this.#options.used(use)
    return answer
  }

  /** By the first engine, if that takes it so; when it fails in the end the next gets the whole. */
  follow(language: string | null, owner?: SpeechOwner): Following | null {
    const able = this.#able(language)
    const following = able[0]?.engine.follow(language, owner) ?? null
    return following === null
      ? null
      : { ...following, end: samples => this.#transcribe(able, { samples, language, owner }, following) }
  }

  #able(language: string | null): Named<SpeechToText>[] {
    return this.#options.stt.filter(({ engine }) => engine.understands(language))
  }

  #transcribe(
    able: Named<SpeechToText>[],
    { samples, language, owner }: Said,
    following: Following | null,
  ): Promise<Understood | { error: string }> {
    const use = { kind: 'transcribe' as const, characters: 0, seconds: samples.length / NARROWBAND_HZ }
    return this.#first(able, use, (engine, isLast) => {
      // An engine takes the samples for itself; the last one may have the original.
      const own = isLast ? samples : samples.slice()
      return following !== null && engine === able[0]?.engine
        ? following.end(own)
        : engine.transcribe(own, language, 'whole', owner)
    })
  }

  async #first<E, A extends object>(
    engines: Named<E>[],
    use: Pick<SpeechUse, 'kind' | 'characters' | 'seconds'>,
    run: (engine: E, isLast: boolean) => Promise<A | { error: string }>,
  ): Promise<A | { error: string }> {
    let answer: A | { error: string } = { error: 'no engine knows this language' }
    for (const { name, engine } of engines) {
      const startedAt = this.#options.now()
      answer = await run(engine, engine === engines.at(-1)?.engine)
      const error = 'error' in answer ? String(answer.error) : null
      this.#options.used({ ...use, engine: name, tookMs: Math.round(this.#options.now() - startedAt), error })
      if (error === null) return answer
    }
    return answer
  }
}
