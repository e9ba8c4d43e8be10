import { float64Array } from '../../codecs/arrays.ts'

/** The minimum spare time is kept for this many groups: 4 s of packets of 20 ms. */
const GROUPS = 24
/** Packets of a group. */
export const GROUP_PACKETS = 8
/** With less spare time, late packets are to be expected [ms]. */
const TOO_LITTLE_MS = 0.7
/** After a reduction by a frame, so much must remain on a steady network, and at the most [ms]. */
const ENOUGH_MS = 2
const MOST_ENOUGH_MS = 6
/** The further the worst group is behind the average, the worse may come: beyond what a drifting clock does, twice as much more must remain [ms]. */
const STEADY_MS = 0.6
const UNSTEADINESS = 2
/** Number of groups to wait, after a late packet and after the first one, before the delay is reduced. */
const CALM_GROUPS = 3
const FIRST_GROUPS = 6
/**
 * A reduction that a late packet soon reverts was too early, and costs a concealment each time. Before the next one, all packets must have had
 * a frame to spare for longer, twice as long each time, up to a minute. So for a line with a late packet every few seconds the delay stays.
 */
const FIRST_PATIENCE_GROUPS = 24
const MOST_PATIENCE_GROUPS = 384
/** A packet later than this is a stall: the delay is not increased for it, unless it happens repeatedly [ms]. */
const STALL_MS = 100

/**
 * Decides the delay of a jitter buffer in frames, by the spare time of each packet: from its arrival to the tick that needs it. It looks at
 * every group of packets once. All packets of the last seconds must have some time to spare, except those behind one or two stalls. So a
 * steady network gets no extra delay, and the same rule follows a drifting clock of the sender.
 */
export class PlayoutDelay {
  /** Surplus frames of delay; negative: frames that are needed in addition. */
  excess = 0
  /** Spare time kept for the packet after a lost one, which repeats it [ms]. */
  #reserveMs = 0
  /** How much more spare time packets have than those at the beginning had at the same transit time [ms]. */
  shiftMs = 0
  /** Packets since the last group, and their spare times, less `shiftMs` [ms]. The jitter buffer notes them as packets arrive. */
  packets = 0
  least = Number.POSITIVE_INFINITY
  most = Number.NEGATIVE_INFINITY
  /** From arrival to playout, smoothed over some 16 packets that were in time; NaN before the first one [ms]. */
  smoothedMs = Number.NaN
  readonly #frameMs: number
  readonly #maxDelayMs: number
  /** Of each group, less `shiftMs`. */
  readonly #leasts = float64Array(GROUPS)
  readonly #mosts = float64Array(GROUPS)
  #groups = 0
  /** Of the groups, less `shiftMs`, and what must remain of it. */
  #usualLeastMs = 0
  #enoughMs = ENOUGH_MS
  #calm = 0
  /** Groups since which all had a frame to spare, how many the next reduction needs, and those since the last one. */
  #spareFor = 0
  #patience = 0
  #sinceCut = Number.POSITIVE_INFINITY
  /** Whether a packet since the last group was as late as after a stall. */
  #isStalled = false

  /** @param maxDelayMs maximum wait of the fastest packets, as far as growth is concerned */
  constructor(frameMs: number, maxDelayMs: number) {
    this.#frameMs = frameMs
    this.#maxDelayMs = maxDelayMs
  }

  /** The spare time of nearly all recent packets [ms]; null: not known yet. */
  get spareMs(): number | null {
    const known = Math.min(this.#groups, GROUPS)
    return known < FIRST_GROUPS ? null : this.#spareMs
  }

  get #spareMs(): number {
    return this.#usualLeastMs + this.shiftMs - this.#reserveMs
  }

  /** Keeps at least so much spare time [ms]. */
  reserve(ms: number): void {
    if (ms === this.#reserveMs) return
    this.#reserveMs = ms
    this.#judge()
  }

  /** What must remain of the spare time after a reduction: more on an unsteady network [ms]. */
  get enoughMs(): number {
    return this.#enoughMs
  }

  /** How many of the frames that a late packet requires are added to the delay; none if no bounded delay would save it. */
  grow(frames: number, latenessMs: number): number {
    this.#calm = 0
    if (latenessMs > STALL_MS) this.#isStalled = true
    if (latenessMs > this.#maxDelayMs) return 0
    const granted = Math.min(frames, this.#roomFrames)
    if (granted > 0) {
      // After a stall, the delay from before was right, although the end of the burst still has to be played.
      if (!this.#isStalled && !this.#regret()) this.#patience >>= 1
      this.shift(granted * this.#frameMs)
    }
    return granted
  }

  /** Another frame of delay is needed. @returns whether the last reduction was too early */
  #regret(): boolean {
    const tooSoon = this.#sinceCut <= 2 * (GROUPS + this.#patience)
    if (tooSoon) this.#patience = Math.min(MOST_PATIENCE_GROUPS, Math.max(FIRST_PATIENCE_GROUPS, 2 * this.#patience))
    this.#sinceCut = Number.POSITIVE_INFINITY
    return tooSoon
  }

  /** Reduces the delay by a frame. */
  cut(): void {
    this.#sinceCut = 0
    this.shift(-this.#frameMs)
  }

  /** Frames that the delay may still grow within the bound. */
  get #roomFrames(): number {
    let most = this.most
    for (let i = Math.min(this.#groups, GROUPS) - 1; i >= 0; i--) if (this.#mosts[i]! > most) most = this.#mosts[i]!
    if (most === Number.NEGATIVE_INFINITY) return 0
    return Math.max(0, Math.floor((this.#maxDelayMs - most - this.shiftMs) / this.#frameMs))
  }

  /** From now on packets have this much more spare time [ms]. */
  shift(byMs: number): void {
    this.shiftMs += byMs
    this.smoothedMs = Math.max(0, this.smoothedMs + byMs)
    this.#judge()
  }

  /** A tick after `GROUP_PACKETS` packets or more. */
  endGroup(): void {
    const at = this.#groups % GROUPS
    this.#leasts[at] = this.least
    this.#mosts[at] = this.most
    this.#groups++
    this.#calm++
    this.#sinceCut++
    this.#spareFor++
    this.#beginGroup()
    this.#assess()
    this.#judge()
  }

  #assess(): void {
    const known = Math.min(this.#groups, GROUPS)
    const usual = this.#usualLeast(known)
    let beyond = 0
    for (let i = 0; i < known; i++) beyond += Math.max(0, this.#leasts[i]! - usual)
    this.#usualLeastMs = usual
    const unsteadyMs = Math.max(0, beyond / known - STEADY_MS)
    this.#enoughMs = Math.min(MOST_ENOUGH_MS, ENOUGH_MS + UNSTEADINESS * unsteadyMs)
  }

  #beginGroup(): void {
    this.#isStalled = false
    this.packets = 0
    this.least = Number.POSITIVE_INFINITY
    this.most = Number.NEGATIVE_INFINITY
  }

  #judge(): void {
    const known = Math.min(this.#groups, GROUPS)
    if (known === 0) {
      this.excess = 0
      return
    }
    const spareMs = this.#spareMs
    const frames = Math.floor((spareMs - this.#enoughMs) / this.#frameMs)
    if (frames <= 0) this.#spareFor = 0
    if (spareMs < TOO_LITTLE_MS) {
      const short = Math.ceil((TOO_LITTLE_MS - spareMs) / this.#frameMs)
      this.excess = -Math.min(short, this.#roomFrames)
      this.#regret()
    } else {
      const isCalm = this.#calm >= CALM_GROUPS && known >= FIRST_GROUPS && this.#spareFor >= this.#patience
      this.excess = isCalm ? Math.max(0, frames) : 0
    }
  }

  /** The minimum spare time, except for the worst one or two stalls. */
  #usualLeast(known: number): number {
    const leasts = this.#leasts
    let first = Number.POSITIVE_INFINITY
    let second = first
    let third = first
    for (let i = 0; i < known; i++) {
      const least = leasts[i]!
      if (least >= third) continue
      third = least
      if (third < second) [second, third] = [third, second]
      if (second < first) [first, second] = [second, first]
    }
    if (third - first < STALL_MS || known < FIRST_GROUPS) return first
    return third - second < STALL_MS ? second : third
  }

  reset(): void {
    this.excess = 0
    this.shiftMs = 0
    this.smoothedMs = Number.NaN
    this.#beginGroup()
    this.#groups = 0
    this.#enoughMs = ENOUGH_MS
    this.#calm = 0
    this.#spareFor = 0
    this.#patience = 0
    this.#sinceCut = Number.POSITIVE_INFINITY
  }
}
