import { FRAME_MS, type Frame, NARROWBAND_HZ } from '../../codecs/audio.ts'
import type { VoiceDetector } from '../../codecs/voice-activity.ts'
import { LEG_SAMPLES } from '../leg.ts'
import type { Sink, Track } from '../sink.ts'
import { EchoGuard } from './echo-guard.ts'
import { Endpointer, type EndpointRules } from './endpointer.ts'

/**
 * Kept of what was before the first voice, and behind the last: soft consonants are no voice to the detector. No more, since
 * silence around a short word makes recognisers miss it [frames].
 */
const MARGIN_FRAMES = 6
const MARGIN_SAMPLES = MARGIN_FRAMES * LEG_SAMPLES
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

export interface ListenerHooks {
  /** Speech was declared in this frame. */
  started(): void
  ended(said: SaidAudio): void
}

/**
 * Hears one leg: cuts what the party says into utterances. In a card-payment pause nothing reaches it, and the owner has it
 * `forget` what it has.
 */
export class Listener implements Sink {
  readonly onPause = 'nothing'
  readonly #detector: VoiceDetector
  readonly #hooks: ListenerHooks
  readonly #endpointer: Endpointer
  readonly #echo = new EchoGuard()
  /** Bounded by `maxUtteranceMs` while somebody speaks, else by twice the margin and `afterMs`. */
  #samples = new Int16Array(FIRST_CAPACITY)
  #length = 0

  constructor(rules: EndpointRules, detector: VoiceDetector, hooks: ListenerHooks) {
    this.#endpointer = new Endpointer(rules)
    this.#detector = detector
    this.#hooks = hooks
  }

  set rules(rules: EndpointRules) {
    this.#endpointer.rules = rules
  }

  get speaking(): boolean {
    return this.#endpointer.speaking
  }

  write(track: Track, frame: Frame): void {
    if (track === 'outbound') {
      this.#echo.sent(frame)
      return
    }
    this.#keep(frame)
    // The detector follows the noise of every frame, so it is asked first.
    const isVoice = this.#detector.isVoice(frame) && !this.#echo.mayBeEcho(frame)
    const endpoint = this.#endpointer.frame(isVoice)
    if (endpoint === 'started') this.#hooks.started()
    else if (endpoint !== 'none') this.#end()
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
    const voiced = (lengthMs / FRAME_MS) * LEG_SAMPLES
    const from = Math.max(0, this.#length - voiced - MARGIN_SAMPLES)
    const to = this.#length - Math.max(0, (silenceMs / FRAME_MS) * LEG_SAMPLES - MARGIN_SAMPLES)
    const samples = this.#samples.slice(from, to)
    this.#empty()
    this.#hooks.ended({ samples, lengthMs: lengthMs - silenceMs, silenceMs })
  }

  #empty(): void {
    this.#endpointer.reset()
    this.#length = 0
    if (this.#samples.length > FIRST_CAPACITY) this.#samples = new Int16Array(FIRST_CAPACITY)
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
