import { type Frame, fadeInto } from '../../codecs/audio.ts'
import { STRAGGLER_MS } from './law-audio.ts'
import type { WireAudio } from './wire-audio.ts'

/**
 * The audio of the codec before an agreed change: the far end's packets of it are on their way, or wait to be heard. It is played until one of the other
 * codec has come and nothing of it waits any more.
 */
export class FormerAudio {
  readonly audio: WireAudio
  /** The next codec has been heard. */
  isOver = false
  readonly #until: number
  #isFollowed = false

  /** @param now of the change */
  constructor(audio: WireAudio, now: number) {
    this.audio = audio
    this.#until = now + STRAGGLER_MS
  }

  /** A packet has arrived. @returns which of the two decodes it */
  of(payloadType: number, next: WireAudio, now: number): WireAudio {
    if (!next.carries(payloadType, now)) return this.audio.carries(payloadType, now) ? this.audio : next
    this.#isFollowed = true
    return next
  }

  /** What is heard in this tick. Until there is something of the next codec this one conceals what is missing, and then fades into it. */
  pull(next: WireAudio, now: number, isUpperWanted: boolean): Frame | null {
    const isTimeOut = now >= this.#until
    const isHeard = isTimeOut || (this.#isFollowed && !this.audio.jitter.isReady)
    // Packets of the next codec wait meanwhile.
    if (!isHeard) next.jitter.pass(now)
    const frame = isHeard ? next.pull(now, isUpperWanted) : null
    this.isOver = isTimeOut || frame !== null
    const before = this.audio.pull(now, isUpperWanted)
    if (!this.isOver) return before
    if (frame !== null && before !== null) fadeInto(frame, before, next.leadIn)
    return frame
  }
}
