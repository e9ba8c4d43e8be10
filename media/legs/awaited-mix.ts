import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import type { RtpSender } from '../rtp/rtp.ts'

/** How long to wait for the mix: as long as a jitter buffer needs to start [frames]. */
const MOST_FRAMES = 3

/** A party that is heard in a mix. */
export interface Speaker {
  /** What it says in this tick; null: nothing. */
  readonly said: Frame | null
}

/**
 * The transition of what a leg sends from relayed packets back to the mix. The party whose packets were relayed is not in the mix at once,
 * since its jitter buffer has to fill. Until then nothing is sent and the timestamp stands still, so that its voice continues without a
 * missing or repeated sample, and is not interrupted by others who are heard at once.
 */
export class AwaitedMix {
  readonly #sender: RtpSender
  readonly #speaker: Speaker
  readonly #relayedUntil: number
  #frames = MOST_FRAMES

  /** @param speaker whose packets were relayed @param relayedUntil when the end of what was relayed would have been mixed [ms] */
  constructor(sender: RtpSender, speaker: Speaker, relayedUntil: number) {
    this.#sender = sender
    this.#speaker = speaker
    this.#relayedUntil = relayedUntil
  }

  /** Nothing is going to be sent in this tick. */
  get isWaiting(): boolean {
    return this.#speaker.said === null && this.#frames > 1
  }

  /** To be called once per tick. @param isKey a key is to be sent, which waits for nobody @returns true: `frame` is to be sent, as all that follow */
  isHere(frame: Frame | null, isKey: boolean, now: number): boolean {
    const isSilent = (frame === null || this.#speaker.said === null) && !isKey
    if (isSilent && --this.#frames > 0) return false
    this.#resume(isSilent, now)
    return true
  }

  /** A silence in which nothing was relayed is left out of the timestamps: otherwise the far end would hear us late from then on. */
  #resume(isSilent: boolean, now: number): void {
    const frames = Math.floor((now - this.#relayedUntil) / FRAME_MS)
    if (frames <= (isSilent ? 0 : MOST_FRAMES)) return
    this.#sender.advance(frames * LEG_SAMPLES)
    this.#sender.pause()
  }
}
