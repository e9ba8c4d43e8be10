import type { MediaHistogram } from '../protocol.ts'

/** Upper bounds of the counts [ms]. */
const BOUNDS_MS = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100]

/** How late the slots of a clock began: counts by upper bound, for percentiles over any time. */
export class Lateness {
  readonly #counts: number[] = BOUNDS_MS.map(() => 0)
  #sumMs = 0
  #count = 0

  add(ms: number): void {
    this.#count++
    this.#sumMs += ms
    const at = BOUNDS_MS.findIndex(bound => ms <= bound)
    if (at >= 0) this.#counts[at]!++
  }

  /** In seconds, the unit of metrics. */
  get histogram(): MediaHistogram {
    const bounds = BOUNDS_MS.map(ms => ms / 1000)
    return { bounds, counts: [...this.#counts], sum: this.#sumMs / 1000, count: this.#count }
  }
}
