import { FRAME_MS, type Frame } from '../audio.ts'
import { levelDbov } from '../level.ts'
import type { NearVoice } from './near-voice.ts'
import { SteadyTone } from './steady-tone.ts'

interface MessageEndTimings {
  /** Silence that ends a greeting without a beep [ms]. */
  messageSilenceMs: number
  /** Without an end by then, detection stops [ms]. */
  messageMs: number
}

/** A beep: a steady tone of this length [ms]. Shorter ones are parts of a melody, longer ones ring. */
const BEEP_MS = { least: 100, most: 2500 }
/** Behind a beep there is silence; where something goes on at once it was none [frames]. */
const QUIET_FRAMES = 8
/** Sound that is this much softer than the beep counts as silence. After a tone, the detector takes noise for a voice for some frames [dB]. */
const QUIET_DB = 9

/** Waits for the end of a machine's greeting: the beep, else silence. To be fed with all frames from when the machine was known. */
export class MessageEnd {
  readonly #timings: MessageEndTimings
  readonly #voices: NearVoice
  readonly #tone: SteadyTone = new SteadyTone()
  #frames = 0
  #silent = 0
  /** Since a beep has ended [frames]; -1: there was none. */
  #behindBeep = -1
  /** For the current or last tone. */
  #toneDb = 0

  constructor(timings: MessageEndTimings, voices: NearVoice) {
    this.#timings = timings
    this.#voices = voices
  }

  /** A beep was heard just now. */
  beeped(): void {
    this.#behindBeep = 0
    this.#toneDb = 0
  }

  /** @param isComfort it is comfort noise, which is silence @returns by what it has ended, once; null: not yet */
  write(frame: Frame, isComfort = false): 'beep' | 'silence' | 'timeout' | null {
    this.#frames++
    const ended = this.#tone.write(frame)
    const voice = this.#voices.hear(frame, false, isComfort)
    const level = levelDbov(frame)
    if (this.#tone.frames > 1) this.#toneDb = this.#tone.frames === 2 ? level : Math.max(this.#toneDb, level)
    const isSound = voice || this.#tone.frames > 1
    this.#silent = isSound ? 0 : this.#silent + 1
    if (ended !== null && ended.ms >= BEEP_MS.least && ended.ms <= BEEP_MS.most) this.#behindBeep = 0
    else if (this.#behindBeep >= 0)
      this.#behindBeep = isSound && level > this.#toneDb - QUIET_DB ? -1 : this.#behindBeep + 1
    if (this.#behindBeep >= QUIET_FRAMES) return 'beep'
    if (this.#silent * FRAME_MS >= this.#timings.messageSilenceMs) return 'silence'
    return this.#isTimeout ? 'timeout' : null
  }

  /** Instead of a frame that has not come: nobody knows whether there was a voice. Only the time limit goes on. */
  leaveOut(): 'timeout' | null {
    this.#frames++
    return this.#isTimeout ? 'timeout' : null
  }

  get #isTimeout(): boolean {
    return this.#frames * FRAME_MS >= this.#timings.messageMs
  }
}
