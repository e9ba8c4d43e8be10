import { FRAME_MS } from '../../codecs/audio.ts'
import { SLOTS } from '../../media/engine/clock.ts'
import { Histogram, type Percentiles } from './histogram.ts'

const SLOT_MS = FRAME_MS / SLOTS
/** A stream is not late for longer than this: then its slot is another one [frames]. */
const WINDOW = 50

/**
 * How long after the beginning of its slot each frame of the streams came. The slots are not told, but can be seen: a frame never comes before
 * its own, so the earliest of the frames around it lies shortly after it, and all slots are on one grid of 5 ms. Of the streams that share a
 * slot the first comes at once; so the grid begins where, over all streams, the longest time without a beginning ends.
 */
export class SlotDelay {
  /** Of each stream, for one frame after the other: arrival less timestamp [ms]. */
  readonly #streams = new Map<number, number[]>()

  add(stream: number, timestampMs: number, at: number): void {
    const behind = this.#streams.get(stream)
    if (behind === undefined) this.#streams.set(stream, [at - timestampMs])
    else behind.push(at - timestampMs)
  }

  clear(): void {
    this.#streams.clear()
  }

  percentiles(): Percentiles | null {
    const delays = new Histogram()
    const streams = Array.from(this.#streams.values(), behind => ({ behind, earliest: earliestOf(behind) }))
    const { begin, gap } = gridOf(streams.map(({ earliest }) => phaseOf(earliest[0]!)))
    // Some come a little sooner than that: they stand in the gap.
    const from = begin - gap / 2
    for (const { behind, earliest } of streams) {
      for (const [i, first] of earliest.entries()) delays.add(behind[i]! - first + phaseOf(first - from) - gap / 2)
    }
    return delays.percentiles()
  }
}

const phaseOf = (ms: number): number => ((ms % SLOT_MS) + SLOT_MS) % SLOT_MS

/** For each frame, the least of those around it with the same slot: when a room moves, those before it or those behind it. */
function earliestOf(behind: readonly number[]): number[] {
  const following = leastBefore(behind.toReversed()).toReversed()
  return leastBefore(behind).map((least, i) => {
    if (i < WINDOW) return following[i]!
    return i >= behind.length - WINDOW ? least : Math.max(least, following[i]!)
  })
}

/** For each value, the least of it and those before it within the window. */
function leastBefore(values: readonly number[]): number[] {
  /** Places of candidates, the value rising towards the end. */
  const candidates: number[] = []
  let oldest = 0
  return values.map((value, i) => {
    while (candidates.length > oldest && values[candidates.at(-1)!]! >= value) candidates.pop()
    candidates.push(i)
    while (candidates[oldest]! < i - WINDOW) oldest++
    return values[candidates[oldest]!]!
  })
}

/** The longest gap between phases on the circle of a slot, and its end [ms]. */
function gridOf(phases: number[]): { begin: number; gap: number } {
  const sorted = phases.sort((a, b) => a - b)
  const grid = { begin: 0, gap: Number.NEGATIVE_INFINITY }
  for (const [i, phase] of sorted.entries()) {
    const gap = phase - (i === 0 ? sorted.at(-1)! - SLOT_MS : sorted[i - 1]!)
    if (gap > grid.gap) Object.assign(grid, { begin: phase, gap })
  }
  return grid
}
