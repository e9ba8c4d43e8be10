import { FRAME_MS, type Frame } from '../audio.ts'
import { BeepDetector } from './beep-detector.ts'
import type { NearVoice } from './near-voice.ts'

interface MessageEndTimings {
  /** Silence that ends a greeting without a beep [ms]. */
  messageSilenceMs: number
  /** Without an end by then, detection stops [ms]. */
  messageMs: number
}

/** Waits for the end of a machine's greeting: the beep, else silence. To be fed with all frames from when the machine was known. */
export class MessageEnd {
  readonly #timings: MessageEndTimings
  readonly #voices: NearVoice
  readonly #beeps = new BeepDetector()
  #frames = 0
  #silent = 0

  constructor(timings: MessageEndTimings, voices: NearVoice) {
    this.#timings = timings
    this.#voices = voices
  }

  /** @param isComfort it is comfort noise, which is silence @returns by what it has ended, once; null: not yet */
  write(frame: Frame, isComfort = false): 'beep' | 'silence' | 'timeout' | null {
    this.#frames++
    const voice = this.#voices.hear(frame, false, isComfort)
    if (this.#beeps.write(frame, voice)) return 'beep'
    this.#silent = voice || this.#beeps.toneMs > FRAME_MS ? 0 : this.#silent + 1
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
