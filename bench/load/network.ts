import { seededNoise } from '../hearing/noises.ts'
import type { Plan } from './pacer.ts'

const FRAME_MS = 20
/** Maximum error of the phones' clocks, and of every twentieth phone's [ppm]. */
const CLOCK_PPM = 50
const BAD_CLOCK_PPM = 200
const BAD_CLOCK_EVERY = 20
/** One packet of 200 is held up for some milliseconds, one of 5000 until the next one has overtaken it [ms]. */
const HELD_UP = { every: 200, leastMs: 4, spreadMs: 8 }
const OVERTAKEN = { every: 5000, behindMs: 3, spreadMs: 4 }
/** Maximum of any other delay, as a multiple of its mean. */
const MOST_JITTER = 8

/**
 * When packets of the load leave: like those of independent phones over a good line. Each phone has its own phase and clock, and packets arrive
 * slightly late. All of it is computed from a seed, so that every run is the same.
 */
export class Network implements Plan {
  readonly #phase: Float64Array
  readonly #period: Float64Array
  readonly #startedAt: number
  readonly #jitterMs: number

  /**
   * @param jitterMs mean delay of packets; 0: none is delayed or overtaken
   * @param seed decides the phases and clocks of the phones
   */
  constructor(legs: number, jitterMs: number, startedAt: number, seed = 4711) {
    this.#startedAt = startedAt
    this.#jitterMs = jitterMs
    const random = seededNoise(seed)
    this.#phase = Float64Array.from({ length: legs }, () => ((random() + 1) / 2) * FRAME_MS)
    this.#period = Float64Array.from({ length: legs }, (_, leg) => {
      const ppm = random() * (leg % BAD_CLOCK_EVERY === 7 ? BAD_CLOCK_PPM : CLOCK_PPM)
      return FRAME_MS / (1 + ppm / 1e6)
    })
  }

  /** When a frame is complete by the leg's own clock [ms]. */
  dueAt(leg: number, frame: number): number {
    return this.#startedAt + this.#phase[leg]! + frame * this.#period[leg]!
  }

  isOvertaken(leg: number, frame: number): boolean {
    return this.#jitterMs > 0 && hash(leg, frame) % OVERTAKEN.every === 1
  }

  leavesAt(leg: number, frame: number): number {
    const due = this.dueAt(leg, frame)
    if (this.#jitterMs === 0) return due
    const share = hash(frame, leg) / 2 ** 32
    if (this.isOvertaken(leg, frame)) {
      return this.leavesAt(leg, frame + 1) + OVERTAKEN.behindMs + share * OVERTAKEN.spreadMs
    }
    if (hash(leg, frame) % HELD_UP.every === 2) return due + HELD_UP.leastMs + share * HELD_UP.spreadMs
    return due + this.#jitterMs * Math.min(MOST_JITTER, -Math.log(1 - share))
  }
}

/** Scatters two numbers over 32 bits. */
function hash(a: number, b: number): number {
  let h = Math.imul(a + 1, 0x9e3779b1) ^ Math.imul(b + 0x7f4a7c15, 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 16), 0x7feb352d)
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b)
  return (h ^ (h >>> 16)) >>> 0
}
