/** The least that waits before live audio begins, and the most that it may wait for an unsteady network [frames]. */
const LEAST_FRAMES = 2
const MOST_FRAMES = 10
/** So long a starved party is taken for late and is concealed, after that for silent [frames]. */
const STARVED_FRAMES = 3
/** How often the delay is looked at [frames]: 1 s. */
const WINDOW = 50
/** After so many windows without a gap the delay becomes a frame shorter. */
const CALM_WINDOWS = 10

export type Playout = 'play' | 'lost' | 'silent'

/**
 * The delay of live audio that comes over TCP: nothing is lost or out of order there, but it comes late and then all at once. Plays a
 * frame per tick behind a delay that grows when audio was late, shrinks when it was not, and never keeps what a stall has heaped up.
 */
export class LivePlayout {
  /** Frames that were due and not there. */
  late = 0
  /** Frames left out to catch up. */
  skipped = 0
  #target = LEAST_FRAMES
  #playing = false
  #starved = STARVED_FRAMES
  #ticks = 0
  #least = Number.POSITIVE_INFINITY
  #calm = 0

  /** The delay that is aimed at [frames]. */
  get target(): number {
    return this.#target
  }

  /** How many of the `waiting` frames are too old to be played; to be left out before `next`. */
  excess(waiting: number): number {
    if (waiting > this.#target + MOST_FRAMES) return this.#leaveOut(waiting - this.#target)
    this.#least = Math.min(this.#least, waiting)
    if (++this.#ticks < WINDOW) return 0
    const standing = this.#least - this.#target
    this.#endWindow()
    // What never ran lower for a whole second is delay without use.
    return standing > 0 && this.#playing ? this.#leaveOut(1) : 0
  }

  /** What this tick plays, with so many frames waiting. */
  next(waiting: number): Playout {
    if (!this.#playing) {
      if (waiting < this.#target) return this.#starve()
      this.#playing = true
    }
    if (waiting > 0) {
      this.#starved = 0
      return 'play'
    }
    this.#playing = false
    this.#calm = 0
    this.#target = Math.min(MOST_FRAMES, this.#target + 1)
    return this.#starve()
  }

  #starve(): Playout {
    if (this.#starved >= STARVED_FRAMES) return 'silent'
    this.#starved++
    this.late++
    return 'lost'
  }

  #leaveOut(frames: number): number {
    this.skipped += frames
    return frames
  }

  #endWindow(): void {
    this.#ticks = 0
    this.#least = Number.POSITIVE_INFINITY
    if (!this.#playing || ++this.#calm < CALM_WINDOWS) return
    this.#calm = 0
    this.#target = Math.max(LEAST_FRAMES, this.#target - 1)
  }
}
