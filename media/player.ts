import type { Frame } from '../codecs/audio.ts'
import type { Source } from './source.ts'

/** Loaded audio at the room's rate, mono; shared by all who play it, so nobody writes to it. */
export interface Clip {
  readonly samples: Int16Array
  /** Length [samples]; what `samples` does not reach is silence. */
  readonly length: number
}

/**
 * Plays clips one after the other, sample by sample without a gap; the last frame is filled up with silence. A player that is
 * not pulled for a while goes on where it stood: hold music keeps its place.
 */
export class Player implements Source {
  readonly #clips: readonly Clip[]
  readonly #loop: boolean
  readonly #frame: Frame
  #clip = 0
  #at = 0
  #isOver: boolean

  /** @param frameSamples length of the room's frame [samples] */
  constructor(clips: readonly Clip[], options: { loop: boolean; frameSamples: number }) {
    // Without the empty ones: a loop over nothing would never fill a frame, and one at the end would give a silent frame.
    this.#clips = clips.filter(clip => clip.length > 0)
    this.#loop = options.loop
    this.#frame = new Int16Array(options.frameSamples)
    this.#isOver = this.#clips.length === 0
  }

  /** The last frame was given out, or `stop` was called. */
  get ended(): boolean {
    return this.#isOver
  }

  pull(): Frame | null {
    if (this.#isOver) return null
    const frame = this.#frame
    let filled = 0
    while (filled < frame.length && !this.#isOver) {
      const clip = this.#clips[this.#clip]!
      const count = Math.min(frame.length - filled, clip.length - this.#at)
      copy(clip.samples, this.#at, frame, filled, count)
      filled += count
      this.#at += count
      if (this.#at >= clip.length) this.#next()
    }
    frame.fill(0, filled)
    return frame
  }

  /** Ends at once: the next pull gives null. Idempotent. */
  stop(): void {
    this.#isOver = true
  }

  #next(): void {
    this.#at = 0
    this.#clip++
    if (this.#clip < this.#clips.length) return
    this.#clip = 0
    this.#isOver = !this.#loop
  }
}

/** A loop, because `subarray` would allocate a view for every frame. */
function copy(from: Int16Array, fromAt: number, to: Frame, toAt: number, count: number): void {
  for (let i = 0; i < count; i++) to[toAt + i] = fromAt + i < from.length ? from[fromAt + i]! : 0
}
