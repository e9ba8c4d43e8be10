/** Minimum number of waiting frames before live audio begins, and maximum for an unsteady network [frames]. */
const LEAST_FRAMES = 2
const MOST_FRAMES = 10
/** For this long missing audio counts as late and is concealed, after that as silence [frames]. */
const STARVED_FRAMES = 3
/** Interval of delay adjustments [frames]: 1 s. */
const WINDOW = 50
/** After this many windows without a gap the delay is reduced by a frame. */
const CALM_WINDOWS = 10

type Playout = 'play' | 'lost' | 'silent'

/**
 * The delay of live audio over TCP: nothing is lost or out of order, but it may arrive late and then all at once. Plays a
 * frame per tick with a delay that grows when audio was late, shrinks when it was not, and never keeps the backlog of a stall.
 */
export class LivePlayout {
  /** Frames that were due and missing. */
  late = 0
  /** Frames skipped to catch up. */
  skipped = 0
  #target = LEAST_FRAMES
  #playing = false
  #starved = STARVED_FRAMES
  #ticks = 0
  #least = Number.POSITIVE_INFINITY
  #calm = 0

  /** The target delay [frames]. */
  get target(): number {
    return this.#target
  }

  /** How many of the `waiting` frames are too old; to be skipped before `next`. */
  excess(waiting: number): number {
    if (waiting > this.#target + MOST_FRAMES) return this.#leaveOut(waiting - this.#target)
    this.#least = Math.min(this.#least, waiting)
    if (++this.#ticks < WINDOW) return 0
    const standing = this.#least - this.#target
    this.#endWindow()
    // Frames that were in surplus for a whole second are useless delay.
    return standing > 0 && this.#playing ? this.#leaveOut(1) : 0
  }

  /** What this tick plays, given the number of waiting frames. */
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
