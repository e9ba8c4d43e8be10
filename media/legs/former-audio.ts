import { type Frame, faded, fadeInto } from '../../codecs/audio.ts'
import { joinInPhase } from '../../codecs/phase.ts'
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
  /** The part above 4 kHz of the last `pull`; null: none. */
  upper: Frame | null = null
  readonly #until: number
  readonly #wasRelayed: boolean
  /** Packets of the next codec. */
  #followed = 0

  /** @param now of the change @param wasRelayed its packets were relayed: it has played nothing that the next codec could continue */
  constructor(audio: WireAudio, now: number, wasRelayed: boolean) {
    this.audio = audio
    this.#wasRelayed = wasRelayed
    audio.ends?.()
    this.#until = now + STRAGGLER_MS
  }

  /** A packet has arrived. @returns which of the two decodes it */
  of(payloadType: number, next: WireAudio, now: number): WireAudio {
    if (!next.carries(payloadType, now)) return this.audio.carries(payloadType, now) ? this.audio : next
    this.#followed++
    return next
  }

  /** The last packet was the first one of the next codec. */
  get isFirst(): boolean {
    return this.#followed === 1
  }

  /** What is heard in this tick. Until there is something of the next codec this one conceals what is missing, and then fades into it. */
  pull(next: WireAudio, now: number, isUpperWanted: boolean): Frame | null {
    const isTimeOut = now >= this.#until
    const isHeard = isTimeOut || (this.#followed > 0 && !this.audio.jitter.isReady)
    // Packets of the next codec wait meanwhile.
    if (!isHeard) next.jitter.pass(now)
    const frame = isHeard ? next.pull(now, isUpperWanted) : null
    this.isOver = isTimeOut || frame !== null
    const before = this.audio.pull(now, isUpperWanted)
    this.upper = this.isOver ? next.upper : this.audio.upper
    if (!this.isOver) return before
    if (frame === null) return null
    const past = before ?? (this.#wasRelayed ? this.audio.guess?.() : null)
    if (past == null) return frame
    joinInPhase(frame, past, next.leadIn ?? 0)
    if (this.audio.upper !== null) this.upper = upperAfter(this.audio.upper, next)
    return frame
  }
}

/** The band above 4 kHz has no phase that anybody hears. */
function upperAfter(before: Frame, { upper, leadIn }: WireAudio): Frame {
  if (upper === null) return faded(before, 'out')
  fadeInto(upper, before, leadIn)
  return upper
}
