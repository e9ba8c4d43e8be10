import { int16Array } from '../../codecs/arrays.ts'
import type { Frame } from '../../codecs/audio.ts'
import type { Source } from '../rooms/source.ts'

/** Loaded audio at the room's rate, mono. Shared by all players, so it must not be written to. */
export interface Clip {
  readonly samples: Int16Array
  /** Length [samples]; beyond `samples` it is silence. */
  readonly length: number
  /** The words in it, if it is synthesised speech. */
  readonly text?: string
}

/** Notified of each clip that is heard. */
export interface ClipWatcher {
  began(clip: Clip): void
  /** @param heard how much of it was played [samples] */
  ended(clip: Clip, heard: number): void
}

interface PlayerOptions {
  loop: boolean
  /** Length of the room's frame [samples]. */
  frameSamples: number
  /** More clips follow by `add`, until `complete`. Absent: these are all. */
  open?: boolean
  /** Where the first clip to be added begins [samples]; default: at its beginning. */
  from?: number
  watcher?: ClipWatcher
}

/**
 * Plays clips one after the other, sample by sample without a gap; the last frame is padded with silence. A player that is
 * not pulled for a while continues at its position: hold music keeps its place.
 */
export class Player implements Source {
  readonly #clips: Clip[]
  readonly #loop: boolean
  readonly #frame: Frame
  readonly #watcher: ClipWatcher | null
  #clip = 0
  #at: number
  #isOpen: boolean
  #isOver: boolean
  #isMidway = false

  constructor(clips: readonly Clip[], options: PlayerOptions) {
    // Without empty clips: a loop over nothing would never fill a frame, and one at the end would give a silent frame.
    this.#clips = clips.filter(clip => clip.length > 0)
    this.#loop = options.loop
    this.#frame = int16Array(options.frameSamples)
    this.#watcher = options.watcher ?? null
    this.#at = options.from ?? 0
    this.#isOpen = options.open === true
    this.#isOver = this.#clips.length === 0 && !this.#isOpen
  }

  /** The last frame was returned, or `stop` was called. While the player is open, a `pull` of null only means that it waits. */
  get ended(): boolean {
    return this.#isOver
  }

  /** A loop may be entered anywhere. */
  get isMidway(): boolean {
    return this.#isMidway
  }

  /** Where the current clip is [samples]. */
  get at(): number {
    return this.#at
  }

  /** Clips that were added and have not begun. */
  get waiting(): number {
    return Math.max(0, this.#clips.length - this.#clip - (this.#at > 0 ? 1 : 0))
  }

  add(clip: Clip): void {
    if (!this.#isOpen || clip.length === 0) return
    // The file may be another by now.
    if (this.#clips.length === 0) this.#at %= clip.length
    this.#clips.push(clip)
  }

  /** The last clip was added. */
  complete(): void {
    this.#isOpen = false
    if (this.#clip >= this.#clips.length) this.#wrap()
  }

  pull(): Frame | null {
    if (this.#isOver || this.#clip >= this.#clips.length) return null
    const frame = this.#frame
    this.#isMidway = this.#loop || this.#at > 0
    let filled = 0
    while (filled < frame.length && !this.#isOver && this.#clip < this.#clips.length) {
      const clip = this.#clips[this.#clip]!
      if (this.#at === 0) this.#watcher?.began(clip)
      const count = Math.min(frame.length - filled, clip.length - this.#at)
      copy(clip.samples, this.#at, frame, filled, count)
      filled += count
      this.#at += count
      if (this.#at >= clip.length) this.#next()
    }
    frame.fill(0, filled)
    return frame
  }

  breakOff(): Frame | null {
    const clips = this.#clips
    const frame = this.#frame
    let [n, at] = [this.#clip, this.#at]
    if (n >= clips.length) return null
    for (let i = 0; i < frame.length; i++) {
      const clip = clips[n]
      frame[i] = clip?.samples[at] ?? 0
      if (clip === undefined || ++at < clip.length) continue
      at = 0
      if (++n === clips.length && this.#loop) n = 0
    }
    return frame
  }

  /** Ends at once: the next pull returns null. Idempotent. */
  stop(): void {
    const clip = this.#clips[this.#clip]
    if (!this.#isOver && this.#at > 0 && clip !== undefined) this.#watcher?.ended(clip, this.#at)
    this.#isOver = true
  }

  #next(): void {
    const clip = this.#clips[this.#clip]!
    this.#watcher?.ended(clip, clip.length)
    this.#at = 0
    this.#clip++
    if (this.#clip >= this.#clips.length && !this.#isOpen) this.#wrap()
  }

  #wrap(): void {
    if (this.#loop && this.#clips.length > 0) this.#clip = 0
    else this.#isOver = true
  }
}

/** A loop, because `subarray` would allocate a view for every frame. */
function copy(from: Int16Array, fromAt: number, to: Frame, toAt: number, count: number): void {
  for (let i = 0; i < count; i++) to[toAt + i] = fromAt + i < from.length ? from[fromAt + i]! : 0
}
