import type { EngineCommands } from '../engine/engine-protocol.ts'
import { type Failure, isFailure, type MediaHistogram, type MediaStats } from '../protocol.ts'

type Answer = EngineCommands['engine.stats']['reply']

/** Counts that only grow. */
type Counts = Pick<MediaStats, 'counters' | 'histograms'>

/**
 * Adds what all engine threads have counted to the figures of the main thread. What tells how they share the work is told for each of them
 * as well, because a sum hides one that is full.
 */
export class ThreadStats {
  /** By thread: its last answer. While it gives none, that remains in the sum: collectors take a smaller one for a restart, and count all of it again. */
  readonly #last = new Map<number, Answer>()
  /** What threads had counted, at their last answer, that have died. */
  readonly #past: Counts = { counters: {}, histograms: {} }

  /** @param replies by thread; the gauges of one that did not answer are left out */
  add(total: MediaStats, replies: readonly (Answer | Failure)[]): MediaStats {
    const { counters, gauges } = total
    for (const [thread, reply] of replies.entries()) {
      if (isFailure(reply)) continue
      const before = this.#last.get(thread)
      if (before !== undefined && before.thread.id !== reply.thread.id) addCounts(this.#past, before)
      this.#last.set(thread, reply)
      for (const [name, value] of Object.entries(reply.gauges)) gauges[name] = (gauges[name] ?? 0) + value
    }
    for (const counts of [this.#past, ...this.#last.values()]) addCounts(total, counts)
    for (const name of ['legs', 'rooms', 'guests'] as const) {
      for (const [thread, reply] of replies.entries()) {
        if (!isFailure(reply)) gauges[`thread_${name}{thread="${thread}"}`] = reply.thread[name]
      }
    }
    for (const [thread, reply] of replies.entries()) {
      if (!isFailure(reply)) counters[`thread_busy_seconds_total{thread="${thread}"}`] = reply.thread.busySeconds
    }
    return total
  }
}

function addCounts({ counters, histograms }: Counts, more: Counts): void {
  for (const [name, value] of Object.entries(more.counters)) counters[name] = (counters[name] ?? 0) + value
  for (const [name, part] of Object.entries(more.histograms)) {
    const whole = histograms[name]
    histograms[name] = whole === undefined ? part : sumOf(whole, part)
  }
}

/** Of two distributions with the same bounds. */
const sumOf = (one: MediaHistogram, other: MediaHistogram): MediaHistogram => ({
  bounds: one.bounds,
  counts: one.counts.map((count, n) => count + other.counts[n]!),
  sum: one.sum + other.sum,
  count: one.count + other.count,
})
