import { FRAME_MS } from '../../../codecs/audio.ts'
import type { Voice } from '../../../codecs/voice-activity.ts'

/** So many frames in a row that may be voice do not break it off. */
const MAX_PERHAPS = 5
/** Voice that broke off belongs to what is declared then, when no longer silence is between ("I … would like"), but no more than this [ms]. */
const GAP_MS = 400
const MAX_LEAD_MS = 1500

export interface EndpointRules {
  /** Voice of this length declares speech [ms]. */
  afterMs: number
  /** Silence of this length ends it [ms]. */
  endOfSpeechMs: number
  /** What is longer is cut [ms]. */
  maxUtteranceMs: number
}

/** What a frame changed: `cut` ends what was said so far in the middle. */
export type Endpoint = 'none' | 'started' | 'ended' | 'cut'

/**
 * Finds where speech begins and ends in frames that are voice or not. Pure: it counts frames, so that what a burst of late frames
 * says is what they say in time. Its rules may change while it runs.
 */
export class Endpointer {
  rules: EndpointRules
  #speaking = false
  /** Frames since the first voice, this one included; 0: none. */
  #frames = 0
  /** Of these the last, which are voice without a break. */
  #voiced = 0
  /** Frames without voice at the end of them, and of these the ones that were left out. */
  #silent = 0
  #leftOut = 0

  constructor(rules: EndpointRules) {
    this.rules = rules
  }

  /** Speech was declared and has not ended. */
  get speaking(): boolean {
    return this.#speaking
  }

  /** From the first voice to now [ms]; 0: there was none. */
  get lengthMs(): number {
    return this.#frames * FRAME_MS
  }

  /** From the last voice to now [ms]. */
  get silenceMs(): number {
    return this.#silent * FRAME_MS
  }

  /** What was received of that [ms]. */
  get #heardSilenceMs(): number {
    return (this.#silent - this.#leftOut) * FRAME_MS
  }

  frame(voice: Voice): Endpoint {
    if (!this.#speaking) return this.#listen(voice)
    this.#frames++
    if (voice === 'voice') this.#silent = this.#leftOut = 0
    else this.#silent++
    if (this.#heardSilenceMs >= this.rules.endOfSpeechMs) return 'ended'
    return this.#cut()
  }

  /** Instead of a frame that has not come: nobody knows whether there was a voice, so it ends nothing. */
  leaveOut(): Endpoint {
    if (this.#frames === 0) return 'none'
    this.#frames = this.#speaking ? this.#frames + 1 : Math.min(this.#frames + 1, MAX_LEAD_MS / FRAME_MS)
    this.#silent++
    this.#leftOut++
    return this.#speaking ? this.#cut() : 'none'
  }

  #cut(): Endpoint {
    return this.lengthMs >= this.rules.maxUtteranceMs ? 'cut' : 'none'
  }

  /** Voice that breaks off before it is long enough is a click or a breath, or the first word of what is declared next. */
  #listen(voice: Voice): Endpoint {
    if (voice === 'voice') {
      this.#voiced++
      this.#silent = this.#leftOut = 0
    } else {
      this.#silent++
      if (voice === 'none' || this.#silent > MAX_PERHAPS) this.#voiced = 0
      if (this.#frames === 0 || this.#heardSilenceMs >= GAP_MS) {
        this.reset()
        return 'none'
      }
    }
    this.#frames = Math.min(this.#frames + 1, MAX_LEAD_MS / FRAME_MS)
    if (this.#voiced * FRAME_MS < this.rules.afterMs) return 'none'
    this.#speaking = true
    return 'started'
  }

  /** Waits for speech again; call it once `ended` and `cut` were dealt with. */
  reset(): void {
    this.#speaking = false
    this.#frames = 0
    this.#voiced = 0
    this.#silent = this.#leftOut = 0
  }
}
