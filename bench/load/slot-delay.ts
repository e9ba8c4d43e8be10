import { FRAME_MS } from '../../codecs/audio.ts'
import { SLOTS } from '../../media/engine/clock.ts'
import { Histogram, type Percentiles } from './histogram.ts'

const SLOT_MS = FRAME_MS / SLOTS
/** How far around a frame the earliest one is looked for. A delay that lasts longer counts as a move to another slot [frames]. */
const WINDOW = 50

/**
 * How long after the beginning of its slot each frame of the streams arrived. Streams do not name their slots, but those can be inferred. No frame
 * arrives before its slot begins, so the earliest of the frames around it arrived shortly after that, and all slots begin on one grid of 5 ms. The
 * first of the streams that share a slot arrives at once. So the grid begins at the end of the longest interval in which no stream has its earliest.
 */
export class SlotDelay {
  /** For each frame of each stream: time of arrival less timestamp [ms]. */
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
    // Some arrive slightly before the beginning of the grid, so phases are counted from the middle of the gap.
    const from = begin - gap / 2
    for (const { behind, earliest } of streams) {
      for (const [i, first] of earliest.entries()) delays.add(behind[i]! - first + phaseOf(first - from) - gap / 2)
    }
    return delays.percentiles()
  }
}

const phaseOf = (ms: number): number => ((ms % SLOT_MS) + SLOT_MS) % SLOT_MS

/** For each frame, the minimum around it in the same slot. If the room moves to another slot, that is the frames before or after it only. */
function earliestOf(behind: readonly number[]): number[] {
  const following = leastBefore(behind.toReversed()).toReversed()
  return leastBefore(behind).map((least, i) => {
    if (i < WINDOW) return following[i]!
    return i >= behind.length - WINDOW ? least : Math.max(least, following[i]!)
  })
}

/** For each value, the minimum of it and those before it within the window. */
function leastBefore(values: readonly number[]): number[] {
  /** Indexes of candidates for the minimum, whose values rise towards the end. */
  const candidates: number[] = []
  let oldest = 0
  return values.map((value, i) => {
    while (candidates.length > oldest && values[candidates.at(-1)!]! >= value) candidates.pop()
    candidates.push(i)
    while (candidates[oldest]! < i - WINDOW) oldest++
    return values[candidates[oldest]!]!
  })
}

/** The longest gap between phases, which wrap around at the length of a slot, and where it ends [ms]. */
function gridOf(phases: number[]): { begin: number; gap: number } {
  const sorted = phases.sort((a, b) => a - b)
  const grid = { begin: 0, gap: Number.NEGATIVE_INFINITY }
  for (const [i, phase] of sorted.entries()) {
    const gap = phase - (i === 0 ? sorted.at(-1)! - SLOT_MS : sorted[i - 1]!)
    if (gap > grid.gap) Object.assign(grid, { begin: phase, gap })
  }
  return grid
}
