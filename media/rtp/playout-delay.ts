/** What the delay follows at once: 4 s of packets of 20 ms. */
const GROUPS = 24
/** Packets of a group. */
export const GROUP_PACKETS = 8
/** How late single packets are is remembered for so many times 2.6 s: some 40 s. */
const BLOCKS = 16
const BLOCK_GROUPS = 16
const FIRST_BLOCKS = 3
/** What is later than that behind the others is not waited for so long: a machine that stands still now and then is no line's habit [ms]. */
const MOST_HABIT_MS = 40
/** So much below the others, a spare time is that of a stall [ms]. */
const STALL_MS = 100
/** With less spare time, late packets are to be expected [ms]. */
const TOO_LITTLE_MS = 0.7
/** After a reduction by a frame, this much must remain [ms]. */
export const ENOUGH_MS = 2
/** Number of groups to wait, after a late packet and after the first one, before the delay is reduced. */
const CALM_GROUPS = 3
const FIRST_GROUPS = 6

/** The spare times of the packets since the last group. The jitter buffer notes them as packets arrive. */
export interface Spares {
  packets: number
  /** Less the `shiftMs` of the delay [ms]. */
  least: number
  most: number
  /** From arrival to playout, smoothed over some 16 packets that were in time; NaN before the first one [ms]. */
  smoothedMs: number
}

/**
 * Decides the delay of a jitter buffer in frames, by the spare time of each packet: from its arrival to the tick that needs it. It looks at
 * every group of packets once. The delay grows when the last four seconds had too little time to spare, in more than one group, and is reduced when a
 * frame less would have been enough for all of them. So a steady network gets no extra delay, and the same rule follows another route and a drifting
 * clock of the sender.
 *
 * A line that is late once in some seconds would grow and be cut by turns, and each time costs a guess. So how far single packets of a group were
 * behind its fastest one is remembered for longer, and a frame less must be enough for that too, except for two of the blocks.
 */
export class PlayoutDelay {
  /** Surplus frames of delay; negative: frames that are needed in addition. */
  excess = 0
  /** How much more spare time packets have than those at the beginning had at the same transit time [ms]. */
  shiftMs = 0
  readonly spares: Spares = {
    packets: 0,
    least: Number.POSITIVE_INFINITY,
    most: Number.NEGATIVE_INFINITY,
    smoothedMs: Number.NaN,
  }
  readonly #frameMs: number
  readonly #maxDelayMs: number
  /** Of each group, less `shiftMs`. */
  readonly #leasts = new Float64Array(GROUPS)
  readonly #mosts = new Float64Array(GROUPS)
  /** Of each block, the most that the least of a group was below its most; 0 or less [ms]. */
  readonly #dips = new Float64Array(BLOCKS)
  #groups = 0
  #calm = 0
  /** The least spare time that is to be reckoned with, less `shiftMs`: to grow, and to be reduced. */
  #growLeast = 0
  #cutLeast = 0

  /** @param maxDelayMs maximum wait of the fastest packets, as far as growth is concerned */
  constructor(frameMs: number, maxDelayMs: number) {
    this.#frameMs = frameMs
    this.#maxDelayMs = maxDelayMs
  }

  /** From arrival to playout, smoothed over some 16 packets that were in time [ms]; 0 before the first one. */
  get smoothedMs(): number {
    const { smoothedMs } = this.spares
    return Number.isNaN(smoothedMs) ? 0 : smoothedMs
  }

  /** The spare time that packets have at least [ms]; null: not known yet. */
  get spareMs(): number | null {
    return this.#groups < FIRST_GROUPS ? null : this.#cutLeast + this.shiftMs
  }

  /** How many of the frames that a late packet requires are added to the delay; none if no bounded delay would save it. */
  grow(frames: number, latenessMs: number): number {
    this.#calm = 0
    if (latenessMs > this.#maxDelayMs) return 0
    const granted = Math.min(frames, this.#roomFrames)
    if (granted > 0) this.shift(granted * this.#frameMs)
    return granted
  }

  /** Reduces the delay by a frame. */
  cut(): void {
    this.shift(-this.#frameMs)
  }

  /** Frames that the delay may still grow within the bound. */
  get #roomFrames(): number {
    const most = Math.max(this.spares.most, this.#mostKnown)
    if (most === Number.NEGATIVE_INFINITY) return 0
    return Math.max(0, Math.floor((this.#maxDelayMs - most - this.shiftMs) / this.#frameMs))
  }

  /** The most spare time in the last groups, less `shiftMs`. */
  get #mostKnown(): number {
    let most = Number.NEGATIVE_INFINITY
    for (let i = Math.min(this.#groups, GROUPS) - 1; i >= 0; i--) if (this.#mosts[i]! > most) most = this.#mosts[i]!
    return most
  }

  /** From now on packets have this much more spare time [ms]. */
  shift(byMs: number): void {
    this.shiftMs += byMs
    this.spares.smoothedMs = Math.max(0, this.spares.smoothedMs + byMs)
    this.#judge()
  }

  /** A tick after `GROUP_PACKETS` packets or more. */
  endGroup(): void {
    const { least, most } = this.spares
    const at = this.#groups % GROUPS
    this.#leasts[at] = least
    this.#mosts[at] = most
    const block = Math.floor(this.#groups / BLOCK_GROUPS) % BLOCKS
    const isFirst = this.#groups % BLOCK_GROUPS === 0
    this.#dips[block] = isFirst ? least - most : Math.min(this.#dips[block]!, least - most)
    this.#groups++
    this.#calm++
    this.#beginGroup()
    this.#findLeast()
    this.#judge()
  }

  #beginGroup(): void {
    this.spares.packets = 0
    this.spares.least = Number.POSITIVE_INFINITY
    this.spares.most = Number.NEGATIVE_INFINITY
  }

  #findLeast(): void {
    const known = Math.min(this.#groups, GROUPS)
    const blocks = Math.min(Math.ceil(this.#groups / BLOCK_GROUPS), BLOCKS)
    const isKnown = known >= FIRST_GROUPS
    const [first, second, third] = leastThreeOf(this.#leasts, known)
    // One or two stalls are none of the line's habits.
    const least = !isKnown || third - first < STALL_MS ? first : third - second < STALL_MS ? second : third
    this.#growLeast = isKnown ? Math.max(least, second) : least
    const habit = blocks < FIRST_BLOCKS ? 0 : Math.max(-MOST_HABIT_MS, leastThreeOf(this.#dips, blocks)[2])
    this.#cutLeast = Math.min(least, this.#mostKnown + habit)
  }

  #judge(): void {
    if (this.#groups === 0) {
      this.excess = 0
      return
    }
    const lacking = TOO_LITTLE_MS - (this.#growLeast + this.shiftMs)
    if (lacking > 0) this.excess = -Math.min(Math.ceil(lacking / this.#frameMs), this.#roomFrames)
    else {
      const isCalm = this.#calm >= CALM_GROUPS && this.#groups >= FIRST_GROUPS
      const spareMs = this.#cutLeast + this.shiftMs
      this.excess = isCalm ? Math.max(0, Math.floor((spareMs - ENOUGH_MS) / this.#frameMs)) : 0
    }
  }

  reset(): void {
    this.excess = 0
    this.shiftMs = 0
    this.spares.smoothedMs = Number.NaN
    this.#beginGroup()
    this.#groups = 0
    this.#calm = 0
    this.#growLeast = 0
    this.#cutLeast = 0
  }
}

const LEAST: [number, number, number] = [0, 0, 0]

/** In their order; the same array each time. */
function leastThreeOf(values: Float64Array, count: number): readonly [number, number, number] {
  let first = Number.POSITIVE_INFINITY
  let second = first
  let third = first
  for (let i = 0; i < count; i++) {
    const value = values[i]!
    if (value >= third) continue
    third = value
    if (third < second) [second, third] = [third, second]
    if (second < first) [first, second] = [second, first]
  }
  LEAST[0] = first
  LEAST[1] = second
  LEAST[2] = third
  return LEAST
}
