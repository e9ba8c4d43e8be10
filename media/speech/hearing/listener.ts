import { FRAME_MS, type Frame, NARROWBAND_HZ } from '../../../codecs/audio.ts'
import { CutOff } from '../../../codecs/detectors/cut-off.ts'
import type { Voice, VoiceDetector } from '../../../codecs/voice-activity.ts'
import { LEG_SAMPLES } from '../../rooms/leg.ts'
import type { Sink, Track } from '../../rooms/sink.ts'
import { EchoGuard } from './echo-guard.ts'
import { Endpointer, type EndpointRules } from './endpointer.ts'

/**
 * Kept of what was before the first voice, and behind the last: soft consonants are no voice to the detector. With less the recogniser
 * loses first and last words of soft voices, with more than that it wins nothing (`npm run bench -- --hearing`) [frames].
 */
const MARGIN_FRAMES = 10
const MARGIN_SAMPLES = MARGIN_FRAMES * LEG_SAMPLES
/** Silence of this length may be the end. By then the margin is full, so that what was said is as it will be at the end [ms]. */
const PAUSE_MS = 200
/** Voice of this length is speech where it interrupts nothing: "No." [ms]. */
const ALONE_AFTER_MS = 100
/** What lasts this long is looked at, and again after each further second: words, or noise? [ms] */
const LONG_MS = 3000
const LONG_EVERY_MS = 1000
/** How often whoever takes an utterance as it is said gets more of it [frames]. */
const GROWTH_FRAMES = 5
const FIRST_CAPACITY = 2 * NARROWBAND_HZ

/** One utterance as it was said. */
export interface SaidAudio {
  /** Mono at 8 kHz, with a little of what was around it; the caller's own. */
  samples: Int16Array<ArrayBuffer>
  /** From the first voice to the last [ms]. */
  lengthMs: number
  /** From the last voice to now [ms]. */
  silenceMs: number
}

interface ListenerHooks {
  /** Speech was declared in this frame. */
  started(): void
  /** More of it, now and then: all that was said so far, borrowed. `lengthMs`: since its first voice. */
  grew(samples: Int16Array, lengthMs: number, silenceMs: number): void
  /** It has paused, perhaps for good; `said` copies what was said. `lengthMs`: since its first voice. */
  paused(said: () => Int16Array<ArrayBuffer>, lengthMs: number, silenceMs: number): void
  /** It is long, and perhaps no speech; `said` as above. */
  lasts(said: () => Int16Array<ArrayBuffer>): void
  ended(said: SaidAudio): void
}

/**
 * Hears one leg: cuts what the party says into utterances. In a card-payment pause nothing reaches it, and the owner has it
 * `forget` what it has.
 */
export class Listener implements Sink {
  readonly onPause = 'nothing'
  /** Less is understood of what a suppressor leaves (`bench/RESULTS.md`). */
  readonly hearsPlain = true
  readonly #detector: VoiceDetector
  readonly #hooks: ListenerHooks
  readonly #endpointer: Endpointer
  /** While we say something, and while we do not. */
  #rules: { playing: EndpointRules; alone: EndpointRules }
  readonly #echo = new EchoGuard()
  readonly #cutOff = new CutOff()
  /** Bounded by `maxUtteranceMs` while somebody speaks, else by twice the margin and `afterMs`. */
  #samples = new Int16Array(FIRST_CAPACITY)
  #length = 0

  constructor(rules: EndpointRules, detector: VoiceDetector, hooks: ListenerHooks) {
    this.#endpointer = new Endpointer(rules)
    this.#rules = bothOf(rules)
    this.#detector = detector
    this.#hooks = hooks
  }

  set rules(rules: EndpointRules) {
    this.#rules = bothOf(rules)
  }

  get speaking(): boolean {
    return this.#endpointer.speaking
  }

  /** Since the first voice of what is being said [ms]. */
  get lengthMs(): number {
    return this.#endpointer.lengthMs
  }

  write(track: Track, frame: Frame, isComfort = false, isMissing = false): void {
    if (track === 'outbound') {
      this.#echo.sent(frame)
      return
    }
    this.#keep(frame)
    // Both follow every frame that comes.
    const mayBeEcho = this.#echo.mayBeEcho(frame)
    const voice = this.#voiceIn(frame, mayBeEcho, isComfort, isMissing)
    this.#endpointer.rules = this.#echo.isSilent ? this.#rules.alone : this.#rules.playing
    const endpoint = voice === null ? this.#endpointer.leaveOut() : this.#endpointer.frame(voice)
    if (endpoint === 'started') this.#hooks.started()
    else if (endpoint !== 'none') this.#end()
    else if (this.speaking) this.#goesOn()
  }

  /** @returns null: nobody knows, because it has not come */
  #voiceIn(frame: Frame, mayBeEcho: boolean, isComfort: boolean, isMissing: boolean): Voice | null {
    if (isMissing) {
      this.#cutOff.miss()
      return this.#cutOff.isCutOff ? null : 'none'
    }
    const heard = this.#detector.hear(frame, !isComfort && (this.speaking || mayBeEcho))
    if (isComfort) return 'none'
    this.#cutOff.hear(frame, heard !== 'none')
    return heard === 'voice' && mayBeEcho ? 'perhaps' : heard
  }

  #goesOn(): void {
    const { lengthMs, silenceMs } = this.#endpointer
    if (lengthMs >= LONG_MS && lengthMs % LONG_EVERY_MS === 0) this.#hooks.lasts(() => this.#said().slice())
    if (silenceMs === PAUSE_MS) this.#hooks.paused(() => this.#said().slice(), lengthMs, silenceMs)
    if ((lengthMs / FRAME_MS) % GROWTH_FRAMES === 0) this.#hooks.grew(this.#said(), lengthMs, silenceMs)
  }

  /** From before the first voice until behind the last. */
  #said(): Int16Array<ArrayBuffer> {
    const { lengthMs, silenceMs } = this.#endpointer
    const voiced = (lengthMs / FRAME_MS) * LEG_SAMPLES
    const from = Math.max(0, this.#length - voiced - MARGIN_SAMPLES)
    const to = this.#length - Math.max(0, (silenceMs / FRAME_MS) * LEG_SAMPLES - MARGIN_SAMPLES)
    return this.#samples.subarray(from, to)
  }

  #keep(frame: Frame): void {
    const needed = MARGIN_SAMPLES + (this.#endpointer.lengthMs / FRAME_MS) * LEG_SAMPLES
    if (!this.speaking && this.#length >= 2 * needed) {
      this.#samples.copyWithin(0, this.#length - needed, this.#length)
      this.#length = needed
    }
    if (this.#length + frame.length > this.#samples.length) {
      const larger = new Int16Array(2 * this.#samples.length)
      larger.set(this.#samples)
      this.#samples = larger
    }
    this.#samples.set(frame, this.#length)
    this.#length += frame.length
  }

  #end(): void {
    const { lengthMs, silenceMs } = this.#endpointer
    const samples = this.#said().slice()
    this.#empty()
    this.#hooks.ended({ samples, lengthMs: lengthMs - silenceMs, silenceMs })
  }

  #empty(): void {
    this.#endpointer.reset()
    this.#length = 0
    if (this.#samples.length > FIRST_CAPACITY) this.#samples = new Int16Array(FIRST_CAPACITY)
  }

  /** What is being said is noise, which a voice must stand out of from now on. @returns how long it was [ms] */
  isNoise(): number {
    const { lengthMs } = this.#endpointer
    this.#detector.learnNoise()
    this.#empty()
    return lengthMs
  }

  /** Ends the utterance under way here, if there is one. */
  cut(): void {
    if (this.speaking) this.#end()
    else this.#empty()
  }

  /** Drops what was heard and not given out: not a sample of it stays. */
  forget(): void {
    this.#samples.fill(0)
    this.#empty()
    this.#detector.reset()
  }

  /** Idempotent. */
  close(): void {
    this.forget()
    this.#detector.close()
  }
}

const bothOf = (playing: EndpointRules) => ({
  playing,
  alone: { ...playing, afterMs: Math.min(playing.afterMs, ALONE_AFTER_MS) },
})
