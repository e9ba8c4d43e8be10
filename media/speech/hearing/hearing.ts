import type { CreateVoiceDetector } from '../../../codecs/voice-activity.ts'
import type { ListenSpec } from '../../protocol.ts'
import type { Leg } from '../../rooms/leg.ts'
import type { SpeechOwner, SpeechToText } from '../speech-engines.ts'
import type { EndpointRules } from './endpointer.ts'
import { Listener, type SaidAudio } from './listener.ts'
import { Utterance } from './utterance.ts'

/** Utterances of one leg that may wait to be understood; a further one is dropped, as one without words. */
const MAX_WAITING = 4
/** Voice of this length is speech where nobody says otherwise [ms]. */
const DEFAULT_AFTER_MS = 100
/** For those who only write down: long enough to keep a sentence whole. */
const SCRIBE_RULES: EndpointRules = { afterMs: DEFAULT_AFTER_MS, endOfSpeechMs: 800, maxUtteranceMs: 30_000 }

/** Writes down what a leg says. */
export interface Scribe {
  /** BCP 47; null: English. */
  readonly language: string | null
  /** An utterance ended; `heard` follows. */
  expect(): void
  /** What was expected does not come. */
  unexpect(): void
  /** `words` null: nothing to write. */
  heard(legId: string, words: HeardWords | null, utterance: number): void
  /** Writes as it is said: `saying` and `unsaid` are for it. */
  readonly isLive: boolean
  /** Somebody began, or has said this so far. */
  saying(legId: string, words: Words, utterance: number): void
  /** What was being said is forgotten. */
  unsaid(legId: string, utterance: number): void
  /** What the product itself said to a leg. */
  told(legId: string, words: Words): void
}

export interface Words {
  text: string
  /** Of the first and the last voice, in ms of the engine's clock. */
  startMs: number
  endMs: number
}

export interface HeardWords extends Words {
  engine: string
  /** From the last voice until the end was declared, and what the transcription took after that [ms]. */
  endpointMs: number
  transcribeMs: number
  bargedIn: boolean
}

export interface HearingTools {
  createVoiceDetector: CreateVoiceDetector
  stt: SpeechToText
  /** Monotonic [ms]. */
  now: () => number
  /** The leg, the call that it is in now, and whose they are. */
  owner: () => SpeechOwner
}

interface HearingHooks {
  /** Speech was declared; whether it silenced what was played. */
  started(listen: ListenSpec): boolean
  /** What was said, one for each `started`, in their order. */
  heard(listen: ListenSpec, words: HeardWords): void
}

/** What all legs of an engine thread have counted. */
export const newHearingCounters = () => ({ utterances: 0, utterancesDropped: 0, utterancesFailed: 0, noises: 0 })
export type HearingCounters = ReturnType<typeof newHearingCounters>

/**
 * What one party says, as words: for whoever listens, and for those who write it down. The audio is looked at once, however many
 * want it; while nobody does, nothing is.
 */
export class Hearing {
  readonly #leg: Leg
  readonly #tools: HearingTools
  readonly #hooks: HearingHooks
  readonly #counters: HearingCounters
  readonly #scribes = new Set<Scribe>()
  #listen: ListenSpec | null = null
  #listener: Listener | null = null
  /** What is being said. */
  #utterance: Utterance | null = null
  /** Its number among those of the leg. */
  #serial = 0
  #isWritten = true
  #bargedIn = false
  #waiting = 0
  /** The utterance before: results are given out in the order in which they were said. */
  #last: Promise<void> = Promise.resolve()

  constructor(leg: Leg, tools: HearingTools, hooks: HearingHooks, counters: HearingCounters) {
    this.#leg = leg
    this.#tools = tools
    this.#hooks = hooks
    this.#counters = counters
  }

  get listen(): ListenSpec | null {
    return this.#listen
  }

  /** Somebody speaks, or what was said is not understood yet. */
  get busy(): boolean {
    return this.#listener?.speaking === true || this.#waiting > 0
  }

  understands(language: string | null): boolean {
    return this.#tools.stt.understands(language)
  }

  /**
   * Listens by this from now on; null: no more. What is being said under another one goes to nobody but the scribes.
   * `isWritten` false: the scribes do not hear it, it is a secret.
   */
  listenTo(listen: ListenSpec | null, isWritten = true): void {
    if (this.#listen !== null) this.#cut()
    this.#listen = listen
    this.#isWritten = listen === null || isWritten
    this.#attach()
  }

  addScribe(scribe: Scribe): void {
    this.#scribes.add(scribe)
    this.#attach()
  }

  /** What is being said is still written down. */
  removeScribe(scribe: Scribe): void {
    if (!this.#scribes.has(scribe)) return
    this.#cut()
    this.#scribes.delete(scribe)
    this.#attach()
  }

  /** What the product said to the party. */
  told(words: Words): void {
    for (const scribe of this.#scribes) scribe.told(this.#leg.id, words)
  }

  /** A card-payment pause begins: what is being said is dropped. */
  forget(): void {
    const listen = this.#listener?.speaking === true ? this.#listen : null
    this.#forgetSaid()
    // Whoever was told that somebody speaks is told that it led to nothing.
    if (listen !== null) this.#deliver(Promise.resolve(null), { lengthMs: 0, silenceMs: 0 }, listen)
  }

  /** The last words still go to the scribes. Idempotent. */
  close(): void {
    this.#cut()
    this.#listen = null
    this.#scribes.clear()
    this.#attach()
  }

  /** Ends the utterance under way, for the scribes if there are any. */
  #cut(): void {
    if (this.#scribes.size > 0 && this.#isWritten) this.#listener?.cut()
    else this.#forgetSaid()
  }

  #forgetSaid(): void {
    this.#listener?.forget()
    if (this.#utterance !== null) for (const scribe of this.#scribes) scribe.unsaid(this.#leg.id, this.#serial)
    this.#utterance?.drop()
    this.#utterance = null
  }

  #attach(): void {
    if (this.#listen === null && this.#scribes.size === 0) {
      if (this.#listener === null) return
      const at = this.#leg.sinks.indexOf(this.#listener)
      if (at >= 0) this.#leg.sinks.splice(at, 1)
      this.#forgetSaid()
      this.#listener.close()
      this.#listener = null
      return
    }
    const rules = this.#listen === null ? SCRIBE_RULES : rulesOf(this.#listen)
    if (this.#listener !== null) {
      this.#listener.rules = rules
      return
    }
    this.#listener = new Listener(rules, this.#tools.createVoiceDetector(), {
      started: () => {
        this.#utterance = this.#newUtterance()
        this.#bargedIn = this.#listen !== null && this.#hooks.started(this.#listen)
        this.#serial++
        this.#tell('', this.#listener?.lengthMs ?? 0, 0)
      },
      grew: (samples, lengthMs, silenceMs) =>
        this.#utterance?.grow(samples, silenceMs, this.#teller(lengthMs, silenceMs)),
      paused: (said, lengthMs, silenceMs) => this.#utterance?.pause(said, this.#teller(lengthMs, silenceMs)),
      lasts: said => this.#lasts(said),
      ended: said => this.#ended(said),
    })
    this.#leg.sinks.push(this.#listener)
    this.#tools.stt.prepare()
  }

  /** Whoever waits for an answer wants all of it at once, as good as it gets; who only writes wants something soon. */
  #newUtterance(): Utterance {
    const isLive = this.#listen === null && [...this.#scribes].some(scribe => scribe.isLive)
    return new Utterance(this.#tools.stt, this.#language, this.#tools.owner(), isLive)
  }

  /** Tells what was said until now, for those who write as it is said, unless that has ended meanwhile. */
  #teller(lengthMs: number, silenceMs: number): (text: string) => void {
    const utterance = this.#utterance
    const saidAt = this.#tools.now()
    return text => {
      if (utterance !== this.#utterance) return
      const sinceMs = this.#tools.now() - saidAt
      this.#tell(text, lengthMs + sinceMs, silenceMs + sinceMs)
    }
  }

  /** Tells those who write as it is said; `lengthMs`, `silenceMs`: since its first and its last voice. */
  #tell(text: string, lengthMs: number, silenceMs: number): void {
    if (!this.#isWritten) return
    const now = this.#tools.now()
    const words = { text, startMs: now - lengthMs, endMs: now - silenceMs }
    for (const scribe of this.#scribes) scribe.saying(this.#leg.id, words, this.#serial)
  }

  /** Voice that lasts for seconds and holds no words is noise: what it silenced goes on, and it takes more to silence it again. */
  #lasts(said: () => Int16Array<ArrayBuffer>): void {
    const utterance = this.#utterance
    void utterance?.isNoise(said, this.#bargedIn).then(isNoise => {
      if (!isNoise || utterance !== this.#utterance || this.#listener === null) return
      this.#counters.noises++
      for (const scribe of this.#scribes) scribe.unsaid(this.#leg.id, this.#serial)
      this.#utterance = null
      utterance.drop()
      const lengthMs = this.#listener.isNoise()
      if (this.#listen !== null) this.#deliver(Promise.resolve(null), { lengthMs, silenceMs: 0 }, this.#listen)
    })
  }

  /** Of what is said: whoever listens knows, else the first who writes it down. */
  get #language(): string | null {
    return this.#listen === null ? ([...this.#scribes][0]?.language ?? null) : this.#listen.language
  }

  #ended(said: SaidAudio): void {
    this.#counters.utterances++
    const utterance = this.#utterance
    this.#utterance = null
    const listen = this.#listen
    const serial = this.#serial
    const scribes = this.#isWritten ? [...this.#scribes] : []
    if (utterance === null || (listen === null && scribes.length === 0)) {
      utterance?.drop()
      return
    }
    for (const scribe of scribes) scribe.expect()
    this.#deliver(this.#transcribe(utterance, said), said, listen, { scribes, serial })
  }

  async #transcribe(utterance: Utterance, { samples }: SaidAudio) {
    if (this.#waiting >= MAX_WAITING) {
      this.#counters.utterancesDropped++
      utterance.drop()
      return null
    }
    const understood = await utterance.end(samples)
    if (!('error' in understood)) return understood
    this.#counters.utterancesFailed++
    return null
  }

  /** Gives out a transcription once it is there and all before it were given out. */
  #deliver(
    transcription: Promise<{ text: string; engine: string } | null>,
    { lengthMs, silenceMs }: Pick<SaidAudio, 'lengthMs' | 'silenceMs'>,
    listen: ListenSpec | null,
    { scribes, serial }: { scribes: Scribe[]; serial: number } = { scribes: [], serial: this.#serial },
  ): void {
    const endedAt = this.#tools.now()
    const bargedIn = this.#bargedIn
    this.#bargedIn = false
    this.#waiting++
    this.#last = Promise.all([transcription, this.#last]).then(([understood]) => {
      this.#waiting--
      const words: HeardWords = {
        text: understood?.text.trim() ?? '',
        engine: understood?.engine ?? 'none',
        startMs: endedAt - silenceMs - lengthMs,
        endMs: endedAt - silenceMs,
        endpointMs: silenceMs,
        transcribeMs: Math.round(this.#tools.now() - endedAt),
        bargedIn,
      }
      for (const scribe of scribes) scribe.heard(this.#leg.id, words.text === '' ? null : words, serial)
      if (listen !== null) this.#hooks.heard(listen, words)
    })
  }
}

const rulesOf = ({ endOfSpeechMs, maxUtteranceMs, bargeIn }: ListenSpec): EndpointRules => ({
  afterMs: bargeIn?.afterMs ?? DEFAULT_AFTER_MS,
  endOfSpeechMs,
  maxUtteranceMs,
})
