import { FRAME_MS, type Frame } from '../audio.ts'

/** Who falls silent by sending nothing sends this much silence first: a voice ends softly. Where less has come, it was cut off in it [ms]. */
const LEAST_SILENCE_MS = 120
/** Who has sent this much silence sends nothing but silence when nobody speaks [ms]. */
const MOST_SILENCE_MS = 600
/** A network, or a far end, seldom stands still for longer than this [ms]. */
export const MOST_STALL_MS = 1500

/**
 * Tells a party that was cut off, by a stall of its network or of itself, from one that has fallen silent, when nothing comes from it any more: by
 * what came before. Some senders leave out silence, and do not say so by comfort noise.
 */
export class CutOff {
  /** Received without voice since the last voice [frames]. */
  #silent = 0
  /** The last of these that are not empty [frames]. */
  #noise = 0
  /** Not received since the last one that was [frames]. */
  #missing = 0
  /** It falls silent by sending nothing; null: not known. */
  #leavesOut: boolean | null = null

  /** A frame has come. An empty one tells nothing of the sender: a leg has such before its first packet, too. */
  hear(frame: Frame, isVoice: boolean): void {
    this.#missing = 0
    this.#silent = isVoice ? 0 : this.#silent + 1
    if (this.#leavesOut !== null) return
    this.#noise = isVoice || frame.every(sample => sample === 0) ? 0 : this.#noise + 1
    if (this.#noise * FRAME_MS >= MOST_SILENCE_MS) this.#leavesOut = false
  }

  /** A frame has not come. */
  miss(): void {
    this.#missing++
    if (!this.isInVoice && this.missingMs > MOST_STALL_MS) this.#leavesOut = true
  }

  /** Nothing has come for so long [ms]. */
  get missingMs(): number {
    return this.#missing * FRAME_MS
  }

  /** What came last was a voice. */
  get isInVoice(): boolean {
    return this.#silent * FRAME_MS < LEAST_SILENCE_MS
  }

  /** What is missing may be speech: for as long as a stall lasts. */
  get isCutOff(): boolean {
    return this.missingMs <= MOST_STALL_MS && (this.isInVoice || this.#leavesOut === false)
  }
}
