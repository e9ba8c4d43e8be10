import { addTo, type Frame, faded, NARROWBAND_HZ } from '../../codecs/audio.ts'
import type { Source } from '../rooms/source.ts'
import { MarkList } from './mark-list.ts'

/** Maximum audio waiting to be played: 60 s. Beyond it, audio is refused and counted. */
const MAX_WAITING = 60 * NARROWBAND_HZ
const FIRST_WAITING = NARROWBAND_HZ
/** Samples of a frame that is played. */
const FRAME_SAMPLES = NARROWBAND_HZ / 50

/**
 * Audio from the receiver of a bidirectional stream to the call. It may arrive faster than real time, waits here, and is played
 * sample by sample as it is pulled. Positions are in samples since the beginning.
 */
export class StreamVoice implements Source {
  /** Samples for which there was no room. */
  refused = 0
  readonly marks = new MarkList()
  readonly #reached: () => void
  readonly #frame: Frame = new Int16Array(FRAME_SAMPLES)
  #ring = new Int16Array(FIRST_WAITING)
  #written = 0
  #pulled = 0
  /** The position up to which audio was pulled; it has been heard when the next frame is due. */
  #heard = 0
  /** Something has come since the last pull. */
  #isFresh = false
  /** The last pull returned something. */
  #isPlaying = false
  /** Where it was left in its middle; -1: nowhere. */
  #left = -1
  isMidway = false
  /** What was discarded in its middle fades out; null: nothing is left of it. */
  #ending: Frame | null = null

  /** @param reached a mark has been */
  constructor(reached: () => void) {
    this.#reached = reached
  }

  /** Samples that were taken, all in all. */
  get written(): number {
    return this.#written
  }

  get #waiting(): number {
    return this.#written - this.#pulled
  }

  /** Takes a copy; false: not all of it. */
  write(samples: Int16Array): boolean {
    const fitting = Math.min(samples.length, MAX_WAITING - this.#waiting)
    this.#makeRoom(fitting)
    this.#copyIn(fitting === samples.length ? samples : samples.subarray(0, fitting))
    this.#written += fitting
    this.refused += samples.length - fitting
    this.#isFresh ||= fitting > 0
    return fitting === samples.length
  }

  /** Stands behind the audio that has come so far. */
  mark(name: string): void {
    this.marks.add(name, this.#written)
    if (this.marks.isReached(this.#heard)) this.#reached()
  }

  /** The marks whose audio has been heard to the end. */
  takeReached(): readonly string[] {
    return this.marks.take(this.#heard)
  }

  /** Discards what has not been pulled; every mark is reached. */
  clear(): void {
    const rest = this.breakOff()
    if (rest !== null) this.#ending = faded(rest, 'out')
    this.#pulled = this.#written
    this.#heard = this.#written
    if (this.marks.isReached(this.#heard)) this.#reached()
  }

  /** A last piece shorter than a frame waits one pull for more, and is then filled up with silence. */
  pull(): Frame | null {
    this.isMidway = this.#pulled === this.#left
    this.#left = -1
    const frame = this.#next()
    const ending = this.#ending
    this.#isPlaying = frame !== null
    if (ending === null) return frame
    this.#ending = null
    if (frame !== null) addTo(ending, frame)
    return ending
  }

  breakOff(): Frame | null {
    const count = Math.min(this.#waiting, FRAME_SAMPLES)
    if (!this.#isPlaying || count === 0) return null
    this.#isPlaying = false
    this.#left = this.#pulled
    this.#copyOut(count)
    return this.#frame
  }

  #next(): Frame | null {
    this.#heard = this.#pulled
    if (this.marks.isReached(this.#heard)) this.#reached()
    const waiting = this.#waiting
    const isFresh = this.#isFresh
    this.#isFresh = false
    if (waiting === 0 || (waiting < FRAME_SAMPLES && isFresh)) return null
    const count = Math.min(waiting, FRAME_SAMPLES)
    this.#copyOut(count)
    this.#pulled += count
    return this.#frame
  }

  #makeRoom(more: number): void {
    const needed = this.#waiting + more
    const before = this.#ring
    if (needed <= before.length) return
    const larger = new Int16Array(Math.min(MAX_WAITING, Math.max(needed, 2 * before.length)))
    for (let at = this.#pulled; at < this.#written; at++) larger[at % larger.length] = before[at % before.length]!
    this.#ring = larger
  }

  #copyIn(samples: Int16Array): void {
    const at = this.#written % this.#ring.length
    const first = Math.min(samples.length, this.#ring.length - at)
    this.#ring.set(samples.subarray(0, first), at)
    this.#ring.set(samples.subarray(first), 0)
  }

  #copyOut(count: number): void {
    const ring = this.#ring
    const frame = this.#frame
    let at = this.#pulled % ring.length
    for (let i = 0; i < count; i++) {
      frame[i] = ring[at]!
      if (++at === ring.length) at = 0
    }
    if (count < FRAME_SAMPLES) frame.fill(0, count)
  }
}
