import type { EngineCommands } from '../engine/engine-protocol.ts'
import { type Failure, isFailure, type MediaHistogram, type MediaStats } from '../protocol.ts'

type Reply = EngineCommands['engine.stats']['reply'] | Failure

/**
 * Adds what all engine threads have counted to the figures of the main thread. What tells how they share the work is told for each of them
 * as well, because a sum hides one that is full.
 *
 * @param replies by thread; one that did not answer is left out
 */
export function addThreads(total: MediaStats, replies: readonly Reply[]): MediaStats {
  const { counters, gauges, histograms } = total
  for (const reply of replies) {
    if (isFailure(reply)) continue
    for (const [name, value] of Object.entries(reply.counters)) counters[name] = (counters[name] ?? 0) + value
    for (const [name, value] of Object.entries(reply.gauges)) gauges[name] = (gauges[name] ?? 0) + value
    for (const [name, part] of Object.entries(reply.histograms)) {
      const whole = histograms[name]
      histograms[name] = whole === undefined ? part : sumOf(whole, part)
    }
  }
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

/** Of two distributions with the same bounds. */
const sumOf = (one: MediaHistogram, other: MediaHistogram): MediaHistogram => ({
  bounds: one.bounds,
  counts: one.counts.map((count, n) => count + other.counts[n]!),
  sum: one.sum + other.sum,
  count: one.count + other.count,
})
