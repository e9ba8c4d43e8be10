import { int16Array } from './arrays.ts'
import { compare, copy, energies, products, SEARCHED } from './kernels/frames.ts'

/** Divisors of a second of audio: the length of a cross-fade, and the search range. */
const OVERLAPS_PER_SECOND = 100
/** So alike must be what is joined that nobody hears of it, -1..1. */
const ALIKE = 0.88
/** Nearer than any period (2.5 ms, an eighth of a frame), where even what is a little out of step is alike: it has to be this much. */
const NEAR = 8
const NEAR_ALIKE = 0.99
/** Noise is like nothing, and never the worse for a joint: what has found no better one so often and is about as loud is taken for it. */
const NOISE_AFTER = 2
const LOUDER_AT_MOST = 4
/** Root mean square of what is as good as silence: -50 dBov. */
const QUIET = 100
/** A longer change is worth so much likeness: what is left to do takes fewer joints. */
const WORTH_OF_LENGTH = 0.1
/** Frames between two joints, lest a vowel sound hurried. */
const REST_FRAMES = 2

export type Pace = 'even' | 'faster' | 'slower'

/**
 * Plays a stream slightly faster or slower at the same pitch. Whole periods are left out or repeated, and the joint is cross-faded
 * over 10 ms where both sides are most alike (WSOLA). Input that is not played yet waits here.
 */
export class TimeScale {
  /** Samples that wait. */
  waiting = 0
  readonly #frame: number
  readonly #overlap: number
  /** The last frame that was played, followed by the waiting samples. */
  readonly #line: Int16Array
  readonly #quietEnergy: number
  #rest = 0
  #failures = 0
  /** The result of `#find`: the distance, and the similarity. */
  #lag = 0
  #likeness = 0

  /** @param samples of a frame: 20 ms */
  constructor(samples: number) {
    this.#frame = samples
    this.#overlap = (samples * 50) / OVERLAPS_PER_SECOND
    this.#line = int16Array(6 * samples)
    this.#quietEnergy = QUIET * QUIET * this.#overlap
  }

  /** Adds a frame, or a part of one. `before`: the frame that was played before it, if none waits; null: silence. */
  add(samples: Int16Array, before: Int16Array | null): void {
    const line = this.#line
    if (this.waiting === 0 && before === null) line.fill(0, 0, this.#frame)
    else if (this.waiting === 0) line.set(before!, 0)
    line.set(samples, this.#frame + this.waiting)
    this.waiting += samples.length
  }

  /** Whether nobody speaks in what a change of so many samples would leave out or repeat, nor where it is joined. */
  isQuiet(pace: Pace, samples: number): boolean {
    const first = pace === 'faster' ? this.#frame : this.#frame - samples
    const length = samples + this.#overlap
    return energyOf(this.#line, first, length) < QUIET * QUIET * length
  }

  /** Gives the next frame; at least one waits. `most`: the change that is wanted [samples]. */
  take(out: Int16Array, pace: Pace, most: number): void {
    const change = this.#changeFor(pace, most)
    const line = this.#line
    const from = this.#frame
    out.set(line.subarray(from + change, from + change + out.length))
    if (change !== 0) this.#join(out, change)
    const used = out.length + change
    line.copyWithin(0, used, from + this.waiting)
    this.waiting -= used
  }

  /** Gives what waits, a frame at most, and silence after it. */
  drain(out: Int16Array): void {
    out.fill(0)
    out.set(this.#line.subarray(this.#frame, this.#frame + Math.min(this.waiting, out.length)))
    this.waiting = 0
  }

  clear(): void {
    this.waiting = 0
    this.#rest = 0
    this.#failures = 0
  }

  /** Samples to be left out; negative: to be said twice. */
  #changeFor(pace: Pace, most: number): number {
    if (this.#rest > 0) {
      this.#rest--
      return 0
    }
    const sign = pace === 'faster' ? 1 : -1
    const reach = Math.min(most, this.#frame, pace === 'faster' ? this.waiting - this.#frame : most)
    if (pace === 'even' || reach <= 0) return 0
    if (!this.#find(sign, reach)) {
      this.#failures++
      return 0
    }
    this.#failures = 0
    if (this.#lag < reach) this.#rest = REST_FRAMES
    return sign * this.#lag
  }

  /** Searches for the part most like the next one, up to this many samples later (1) or earlier (-1). */
  #find(sign: 1 | -1, reach: number): boolean {
    const line = this.#line
    const from = this.#frame
    const overlap = this.#overlap
    const here = energyOf(line, from, overlap)
    if (here < this.#quietEnergy && energyOf(line, from + sign * reach, overlap) < this.#quietEnergy) {
      this.#lag = reach
      this.#likeness = 0
      return true
    }
    const first = Math.min(0, sign * reach)
    copy(SEARCHED, line.subarray(from + first, from + Math.max(0, sign * reach) + overlap))
    compare(-first, sign - first, sign, overlap, reach)
    let best = Number.NEGATIVE_INFINITY
    let there = 0
    this.#likeness = -1
    for (let lag = 1; lag <= reach; lag++) {
      const energy = energies[lag - 1]!
      const likeness = products[lag - 1]! / Math.sqrt(here * energy + 1)
      const worth = likeness + (WORTH_OF_LENGTH * lag) / this.#frame
      if (worth <= best || (NEAR * lag < this.#frame && likeness < NEAR_ALIKE)) continue
      best = worth
      there = energy
      this.#lag = lag
      this.#likeness = likeness
    }
    if (this.#likeness >= ALIKE) return true
    const isNoise = this.#failures >= NOISE_AFTER && this.#likeness > 0
    return isNoise && there < LOUDER_AT_MOST * here && here < LOUDER_AT_MOST * there
  }

  /** Fades from what would have come to what comes in its place, at the same power however alike they are. */
  #join(out: Int16Array, change: number): void {
    const line = this.#line
    const from = this.#frame
    const overlap = this.#overlap
    const unlike = 2 * (1 - Math.max(0, this.#likeness))
    for (let i = 0; i < overlap; i++) {
      const after = (i + 0.5) / overlap
      const before = 1 - after
      const sum = before * line[from + i]! + after * line[from + change + i]!
      const sample = Math.round(sum / Math.sqrt(1 - unlike * before * after))
      out[i] = sample > 32_767 ? 32_767 : sample < -32_768 ? -32_768 : sample
    }
  }
}

function energyOf(samples: Int16Array, from: number, length: number): number {
  let energy = 0
  for (let i = from; i < from + length; i++) energy += samples[i]! * samples[i]!
  return energy
}
