import { STRAGGLER_MS } from './law-audio.ts'
import type { WireAudio } from './wire-audio.ts'

/**
 * The audio of the codec before an agreed change: the far end's packets of it are on their way, or wait to be heard. It is played until one of the other
 * codec has come and nothing of it waits any more.
 */
export class FormerAudio {
  readonly audio: WireAudio
  readonly #until: number
  #isFollowed = false

  /** @param now of the change */
  constructor(audio: WireAudio, now: number) {
    this.audio = audio
    this.#until = now + STRAGGLER_MS
  }

  /** A packet has come. @returns by which of the two it is read */
  of(payloadType: number, next: WireAudio, now: number): WireAudio {
    if (!next.carries(payloadType, now)) return this.audio.carries(payloadType, now) ? this.audio : next
    this.#isFollowed = true
    return next
  }

  isOver(now: number): boolean {
    return now >= this.#until || (this.#isFollowed && !this.audio.jitter.isReady)
  }
}
