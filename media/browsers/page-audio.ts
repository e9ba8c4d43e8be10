import type { Resampler } from '../../codecs/resample.ts'
import { FACTS } from '../legs/browser-leg.ts'
import type { FrameRing } from '../legs/frame-ring.ts'
import type { StreamFormat } from '../protocol.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import { MarkList } from '../streams/mark-list.ts'
import { SaidAudio } from '../streams/said-audio.ts'

/** Maximum audio waiting to be played: 60 s. Beyond it, audio is dropped and counted. */
const MAX_WAITING_FRAMES = 3000
/** Frames that the engine has in advance, so that a late pump is not heard. */
const AHEAD_FRAMES = 5
/** A longer payload is invalid [characters]. */
const MAX_PAYLOAD = 64 * 1024
/** Gain of the jitter estimate (RFC 3550 §6.4.1). */
const JITTER_GAIN = 1 / 16

/**
 * A page's audio on its way to the engine: payloads of any length become frames of 20 ms at 8 kHz. Live audio goes straight
 * through. A bot's audio that arrives faster than real time waits here and can be cleared; marks report when it was heard.
 */
export class PageAudio {
  readonly #ring: FrameRing
  readonly #facts: Int32Array
  readonly #said: SaidAudio
  readonly #marks = new MarkList()
  readonly #frame = new Int16Array(LEG_SAMPLES)
  #filled = 0
  #waiting: Int16Array[] = []
  #framesDropped = 0
  #lastTransitMs = Number.NaN
  #jitterMs = 0

  /** `resampler`: from 16 to 8 kHz for `l16_16000`, else null; closed with it. */
  constructor(ring: FrameRing, facts: Int32Array, format: StreamFormat, resampler: Resampler | null) {
    this.#ring = ring
    this.#facts = facts
    this.#said = new SaidAudio(format, resampler, MAX_PAYLOAD)
  }

  /** Payloads that were no audio. */
  get refused(): number {
    return this.#said.refused
  }

  /** Frames and marks for which there was no room. */
  get dropped(): number {
    return this.#framesDropped + this.#marks.dropped
  }

  /** A `media` message; `nowMs` monotonic. */
  media(payload: string, timestampMs: number | null, nowMs: number): void {
    const samples = this.#said.decode(payload)
    if (samples === null) return
    Atomics.store(this.#facts, FACTS.live, timestampMs === null ? 0 : 1)
    if (timestampMs !== null) this.#measure(timestampMs, nowMs)
    this.#cut(samples)
  }

  #cut(samples: Int16Array): void {
    for (let at = 0; at < samples.length; ) {
      const count = Math.min(LEG_SAMPLES - this.#filled, samples.length - at)
      this.#frame.set(samples.subarray(at, at + count), this.#filled)
      this.#filled += count
      at += count
      if (this.#filled < LEG_SAMPLES) return
      this.#filled = 0
      this.#push()
    }
  }

  /** Another connection, with its own timestamps. */
  restart(): void {
    this.#lastTransitMs = Number.NaN
  }

  #push(): void {
    const isLive = Atomics.load(this.#facts, FACTS.live) === 1
    if (isLive && this.#waiting.length === 0) {
      this.#ring.write(this.#frame)
    } else if (this.#waiting.length < MAX_WAITING_FRAMES) this.#waiting.push(this.#frame.slice())
    else this.#framesDropped++
  }

  /** Interarrival jitter (RFC 3550 §6.4.1). */
  #measure(timestampMs: number, nowMs: number): void {
    const transitMs = nowMs - timestampMs
    if (!Number.isNaN(this.#lastTransitMs)) {
      this.#jitterMs += (Math.abs(transitMs - this.#lastTransitMs) - this.#jitterMs) * JITTER_GAIN
    }
    this.#lastTransitMs = transitMs
    Atomics.store(this.#facts, FACTS.jitterUs, Math.min(2 ** 31 - 1, Math.round(this.#jitterMs * 1000)))
  }

  /** A `mark` message: stands after the audio that has arrived so far. */
  mark(name: string): void {
    this.#marks.add(name, this.#ring.written + this.#waiting.length)
  }

  /** A `clear` message: audio that was not heard yet is discarded, and every mark in it is reached. */
  clear(): readonly string[] {
    this.#waiting = []
    this.#filled = 0
    this.#ring.clear()
    return this.#marks.take(Infinity)
  }

  /** Gives the engine what it will need next; returns the marks that were reached. Call it every 20 ms or more often. */
  pump(): readonly string[] {
    let moved = 0
    while (moved < this.#waiting.length && this.#ring.waiting < AHEAD_FRAMES) this.#ring.write(this.#waiting[moved++]!)
    if (moved > 0) this.#waiting.splice(0, moved)
    return this.#marks.take(this.#ring.read)
  }

  close(): void {
    this.#said.close()
  }
}
