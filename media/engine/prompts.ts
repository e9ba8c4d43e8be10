import { access, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LRUCache } from 'lru-cache'
import { nationalTone } from '../../codecs/national-tones.ts'
import { BEEP, renderTone } from '../../codecs/tones.ts'
import { WorkerJobs } from '../kernel/worker-jobs.ts'
import { workerEntry } from '../protocol/worker-entry.ts'
import type { PlaySource } from '../protocol.ts'
import { piecesOf } from '../speech/hearing/sentences.ts'
import { NO_TEXT_TO_SPEECH, type SpeechOwner, shareOf, type TextToSpeech } from '../speech/speech-engines.ts'
import type { ClipAnswer, ClipJob } from './clip-worker.ts'
import type { Clip } from './player.ts'

/** Size of the audio cache; the least recently played goes first [bytes]. */
const MAX_CACHE_BYTES = 64 * 1024 * 1024
/** Counted for each entry in addition to its samples, so that the number of empty files is bounded too [bytes]. */
const ENTRY_BYTES = 256
/** Maximum length of a silence [ms]. */
const MAX_SILENCE_MS = 3_600_000

const PROMPT_NAME = /^[a-z0-9-]+$/
/** English is in the folder itself, each other language in a folder of its name. */
const ENGLISH = 'en'
const LANGUAGE = /^[a-z]{2,3}$/
const NO_SAMPLES = new Int16Array(0)

interface PromptsOptions {
  sampleRateHz: number
  /** Synthesises `speech`, at 8 kHz. Absent: not available. */
  tts?: TextToSpeech
  /** Contains `prompts/<name>.wav` and `music/hold.wav`; default: the product's own. */
  fixturesDir?: string
  maxCacheBytes?: number
}

type PromptTexts = Record<string, Record<string, string> | undefined>

/**
 * Turns sources into samples at the room's rate. Files are read, decoded and resampled on another thread; loaded audio is
 * shared and cached within a bound. Everything is one round long: ringback is one ring and its pause, music is the file
 * once. Use a loop to repeat it.
 */
export class Prompts {
  /** Files that could not be played. */
  failures = 0

  readonly #sampleRateHz: number
  readonly #fixturesDir: string
  readonly #cache: LRUCache<string, Clip>
  /** Loads in progress. */
  readonly #loading = new Map<string, Promise<Clip | { error: string }>>()
  readonly #tts: TextToSpeech
  readonly #jobs = new WorkerJobs<ClipJob, ClipAnswer>(workerEntry('media/engine/clip-worker'))
  /** Texts of the prompts, by language and name. */
  #texts: Promise<PromptTexts> | null = null

  constructor(options: PromptsOptions) {
    this.#sampleRateHz = options.sampleRateHz
    this.#tts = options.tts ?? NO_TEXT_TO_SPEECH
    this.#fixturesDir = options.fixturesDir ?? join(packageRoot(), 'fixtures')
    this.#cache = new LRUCache({
      maxSize: options.maxCacheBytes ?? MAX_CACHE_BYTES,
      sizeCalculation: ({ samples }) => samples.byteLength + ENTRY_BYTES,
    })
  }

  /** Bytes of cached audio. */
  get cachedBytes(): number {
    return this.#cache.calculatedSize
  }

  /** All sources in order, or the first error. Never rejects. `owner`: whose turn the synthesis uses. */
  async loadAll(sources: readonly PlaySource[], owner?: SpeechOwner): Promise<Clip[] | { error: string }> {
    const loaded = await Promise.all(sources.map(source => this.#loadPieces(source, owner)))
    const clips: Clip[] = []
    for (const pieces of loaded) {
      if ('error' in pieces) return pieces
      clips.push(...pieces)
    }
    return clips
  }

  /** Speech sentence by sentence, so that a long text lets those of others in between. */
  async #loadPieces(source: PlaySource, owner: SpeechOwner | undefined): Promise<Clip[] | { error: string }> {
    const clips: Clip[] = []
    for (const piece of piecesOf(source)) {
      const clip = await this.load(piece, owner)
      if ('error' in clip) return clip
      clips.push(clip)
    }
    return clips
  }

  /** Never rejects: a missing or damaged file, a bad name or a bad length is `{ error }`. */
  load(source: PlaySource, owner?: SpeechOwner): Promise<Clip | { error: string }> {
    switch (source.kind) {
      case 'prompt':
        if (!PROMPT_NAME.test(source.name)) return this.#fail(`no prompt is named ${JSON.stringify(source.name)}`)
        return this.#loadPrompt(source.name, (source.language ?? ENGLISH).split('-')[0]!.toLowerCase())
      case 'music':
        return this.#loadFile(join(this.#fixturesDir, 'music', 'hold.wav'))
      case 'file':
        return this.#loadChanging(source.path)
      case 'tone':
        return this.#tone(source)
      case 'speech':
        return this.#speak(source, owner)
      case 'silence':
        if (!(source.ms >= 0 && source.ms <= MAX_SILENCE_MS)) return this.#fail(`silence of ${source.ms} ms`)
        return Promise.resolve({
          samples: NO_SAMPLES,
          length: Math.round((source.ms * this.#sampleRateHz) / 1000),
        })
    }
  }

  #tone({ name, country = '' }: Extract<PlaySource, { kind: 'tone' }>): Promise<Clip | { error: string }> {
    const plan = name === 'beep' ? BEEP : nationalTone(name, country)
    return this.#cached(`tone ${name} ${country}`, async () => clipOf(renderTone(plan, this.#sampleRateHz)))
  }

  /** Ends the loading thread. Idempotent. */
  close(): Promise<void> {
    return this.#jobs.close()
  }

  /** In the requested language if recorded, otherwise in English. */
  #loadPrompt(name: string, language: string): Promise<Clip | { error: string }> {
    const folder = join(this.#fixturesDir, 'prompts')
    const english = join(folder, `${name}.wav`)
    if (language === ENGLISH || !LANGUAGE.test(language)) return this.#withText(this.#loadFile(english), name, ENGLISH)
    const own = join(folder, language, `${name}.wav`)
    return exists(own).then(isRecorded =>
      this.#withText(this.#loadFile(isRecorded ? own : english), name, isRecorded ? language : ENGLISH),
    )
  }

  /** Adds the spoken words, for transcripts. */
  async #withText(
    loading: Promise<Clip | { error: string }>,
    name: string,
    language: string,
  ): Promise<Clip | { error: string }> {
    const clip = await loading
    if ('error' in clip) return clip
    this.#texts ??= readTexts(join(this.#fixturesDir, 'prompts', 'texts.json'))
    const text = (await this.#texts)[language]?.[name]
    return text === undefined ? clip : { text, ...clip }
  }

  /** A file that may be replaced while the process runs: the key includes its version. */
  async #loadChanging(path: string): Promise<Clip | { error: string }> {
    try {
      const { mtimeMs, size } = await stat(path)
      return await this.#loadFile(path, `${mtimeMs} ${size} ${path}`)
    } catch (error) {
      return this.#fail(error instanceof Error ? error.message : String(error))
    }
  }

  #loadFile(path: string, key = path): Promise<Clip | { error: string }> {
    return this.#cached(key, async () => {
      const answer = await this.#jobs.run({ path, sampleRateHz: this.#sampleRateHz })
      return 'error' in answer ? this.#fail(answer.error) : clipOf(answer.samples)
    })
  }

  /**
   * A phrase that was recently said to somebody of the same organisation is not synthesised again; another organisation's may have to wait
   * for its turn. A recorded phrase needs no voice.
   */
  async #speak(
    source: Extract<PlaySource, { kind: 'speech' }>,
    owner?: SpeechOwner,
  ): Promise<Clip | { error: string }> {
    const { text, voice, language, speed = 1, recorded } = source
    // A voice that does not know the language is not asked, because its refusal would count as a failure.
    if (recorded !== undefined && !this.#tts.speaks(language)) return this.#joinRecorded(text, recorded, language)
    const said = JSON.stringify([shareOf(owner), voice, language, speed, text])
    const clip = await this.#cached(`speech ${said}`, async () => {
      const spoken = await this.#tts.speak(text, voice, language, owner, speed)
      return 'error' in spoken ? spoken : { ...clipOf(spoken.samples), text }
    })
    if (!('error' in clip)) return clip
    return recorded === undefined ? this.#fail(clip.error) : this.#joinRecorded(text, recorded, language)
  }

  async #joinRecorded(text: string, recorded: string[], language: string | null): Promise<Clip | { error: string }> {
    const parts = await this.loadAll(
      recorded.map(name => ({ kind: 'prompt' as const, name, language: language ?? ENGLISH })),
    )
    return 'error' in parts ? parts : { ...clipOf(joined(parts)), text }
  }

  #cached(key: string, load: () => Promise<Clip | { error: string }>): Promise<Clip | { error: string }> {
    const known = this.#cache.get(key)
    if (known !== undefined) return Promise.resolve(known)
    const underWay = this.#loading.get(key)
    if (underWay !== undefined) return underWay
    const loading = load().then(clip => {
      this.#loading.delete(key)
      if (!('error' in clip)) this.#cache.set(key, clip)
      return clip
    })
    this.#loading.set(key, loading)
    return loading
  }

  #fail(error: string): Promise<{ error: string }> {
    this.failures++
    return Promise.resolve({ error })
  }
}

function joined(clips: readonly Clip[]): Int16Array {
  const all = new Int16Array(clips.reduce((sum, { samples }) => sum + samples.length, 0))
  let at = 0
  for (const { samples } of clips) {
    all.set(samples, at)
    at += samples.length
  }
  return all
}

/** Recordings without texts are played, but not transcribed. */
const readTexts = (path: string): Promise<PromptTexts> =>
  readFile(path, 'utf8').then(
    text => JSON.parse(text) as PromptTexts,
    () => ({}),
  )

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const clipOf = (samples: Int16Array): Clip => ({ samples, length: samples.length })

/** Resolved by the package's own name, which works from the sources and from `dist`. */
const packageRoot = (): string => dirname(fileURLToPath(import.meta.resolve('tandem/package.json')))
