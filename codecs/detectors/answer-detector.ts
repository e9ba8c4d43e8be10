import { FRAME_MS, type Frame } from '../audio.ts'
import { BeepDetector } from './beep-detector.ts'
import { FaxTones } from './fax-tones.ts'
import type { NearVoice } from './near-voice.ts'
import type { ToneHeard } from './steady-tone.ts'

/** The rules of the cadence, as the field has them (Asterisk's AMD, Twilio's detection). */
interface AnswerTimings {
  /** So long without a voice: nobody knows who it is [ms]. */
  initialSilenceMs: number
  /** A person is silent after less [ms]. */
  greetingMs: number
  /** That silence [ms]. */
  afterGreetingSilenceMs: number
  /** A person says no more at once. */
  maxWords: number
  /** Shorter sounds are no words [ms]. */
  minWordMs: number
  /** Silence between two words [ms]. */
  betweenWordsMs: number
  /** Time limit of the whole detection [ms]. */
  totalMs: number
}

export type AnsweredBy = 'human' | 'machine' | 'fax' | 'unknown'

/** The result, what decided it, and when [ms from the first frame]. */
export interface Answer {
  answeredBy: AnsweredBy
  cause:
    | 'short_greeting'
    | 'long_greeting'
    | 'many_words'
    | 'beep'
    | 'network_tone'
    | 'fax_tone'
    | 'no_voice'
    | 'undecided'
  ms: number
}

/** A tone for so long is no voice [ms]. */
const TONE_MS = 60
/** Voice before a beep; ringing and melodies come before it [ms]. */
const VOICE_BEFORE_BEEP_MS = 400
/** Special information tones (ITU-T E.180 §7.1): three, each higher; as networks send them they last 274 to 380 ms. */
const NETWORK_TONE_HZ = [
  [880, 1010],
  [1340, 1460],
  [1730, 1830],
] as const
const NETWORK_TONE_MS = { least: 200, most: 450 }

/**
 * A pause in a greeting is no longer than this in its length [ms]: a person who says hello, waits and asks who is there says no more than one who
 * does not wait, and a machine goes on anyway.
 */
const LONGEST_PAUSE_MS = 160

const ms = (frames: number): number => frames * FRAME_MS

/**
 * Tells a person from a machine by the way in which it answers: who says a short word and waits is a person, who goes on is a machine. To be
 * fed with all frames from the answer on, silent ones too; it judges by them, not by when they come. Afterwards it says nothing more.
 */
export class AnswerDetector {
  readonly #timings: AnswerTimings
  readonly #voices: NearVoice
  readonly #fax = new FaxTones()
  readonly #beeps = new BeepDetector()
  readonly #tones: ToneHeard[] = []
  #frames = 0
  /** Left out [frames]. */
  #missing = 0
  /** The greeting: its beginning, what of its pauses does not count, voice in it [frames], its words. */
  #began = -1
  #waitedIn = 0
  #voiced = 0
  #words = 0
  /** The current word, and the silence since the last voice [frames]. */
  #word = 0
  #silent = 0
  /** Without voice or ringing since the beginning [frames]. */
  #waited = 0

  constructor(timings: AnswerTimings, voices: NearVoice) {
    this.#timings = timings
    this.#voices = voices
  }

  /** @param isComfort it is comfort noise, which is silence @returns who it is, once; null: not known yet */
  write(frame: Frame, isComfort = false): Answer | null {
    this.#frames++
    if (this.#fax.write(frame) !== null) return this.#is('fax', 'fax_tone')
    const voice = this.#voices.hear(frame, this.#word > 0, isComfort)
    const isBeep = this.#beeps.write(frame, voice)
    if (this.#isNetworkTone(this.#beeps.ended)) return this.#is('machine', 'network_tone')
    if (isBeep && this.#hasSpoken) return this.#is('machine', 'beep')
    const isTone = this.#beeps.toneMs >= TONE_MS
    if (isTone) this.#waited = 0
    else if (this.#voices.hasRisen) this.#restart()
    this.#follow(!isTone && voice)
    return this.#judge()
  }

  /** Instead of a frame that has not come: nobody knows whether there was a voice. Only the time limit of the whole detection goes on. */
  leaveOut(): Answer | null {
    this.#missing++
    return this.#judgeTime()
  }

  /** The sound so far came from somebody else. */
  #restart(): void {
    this.#began = -1
    this.#waitedIn = 0
    this.#voiced = 0
    this.#words = 0
    this.#word = 0
  }

  #follow(isVoice: boolean): void {
    const { minWordMs, betweenWordsMs } = this.#timings
    if (isVoice) {
      if (this.#began >= 0) this.#waitedIn += Math.max(0, this.#silent - LONGEST_PAUSE_MS / FRAME_MS)
      this.#word++
      this.#silent = 0
      if (ms(this.#word) < minWordMs) return
      if (this.#began < 0) this.#began = this.#frames - this.#word
      return
    }
    this.#silent++
    this.#waited++
    if (ms(this.#silent) < betweenWordsMs || this.#word === 0) return
    if (ms(this.#word) >= minWordMs) {
      this.#words++
      this.#voiced += this.#word
    }
    this.#word = 0
  }

  #judge(): Answer | null {
    const { initialSilenceMs, greetingMs, afterGreetingSilenceMs, maxWords } = this.#timings
    if (this.#began >= 0) {
      const words = this.#words + (ms(this.#word) >= this.#timings.minWordMs ? 1 : 0)
      const length = this.#frames - this.#began - this.#waitedIn - this.#silent
      if (ms(length) >= greetingMs) return this.#is('machine', 'long_greeting')
      if (words > maxWords) return this.#is('machine', 'many_words')
      const isOver = ms(this.#silent) >= afterGreetingSilenceMs && !(this.#hasSpoken && this.#beeps.isExpected)
      if (isOver) return this.#is('human', 'short_greeting')
    } else if (ms(this.#waited) >= initialSilenceMs) return this.#is('unknown', 'no_voice')
    return this.#judgeTime()
  }

  #judgeTime(): Answer | null {
    return ms(this.#frames + this.#missing) >= this.#timings.totalMs ? this.#is('unknown', 'undecided') : null
  }

  get #hasSpoken(): boolean {
    return ms(this.#voiced + this.#word) >= VOICE_BEFORE_BEEP_MS
  }

  #isNetworkTone(tone: ToneHeard | null): boolean {
    if (tone === null) return false
    this.#tones.push(tone)
    if (this.#tones.length > NETWORK_TONE_HZ.length) this.#tones.shift()
    return NETWORK_TONE_HZ.every(([least, most], i) => {
      const { hz = 0, ms: length = 0 } = this.#tones[i] ?? {}
      return hz >= least && hz <= most && length >= NETWORK_TONE_MS.least && length <= NETWORK_TONE_MS.most
    })
  }

  #is(answeredBy: AnsweredBy, cause: Answer['cause']): Answer {
    return { answeredBy, cause, ms: ms(this.#frames + this.#missing) }
  }
}
