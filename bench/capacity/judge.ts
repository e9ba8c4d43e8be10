import type { LoadResult } from '../load/messages.ts'
import { lostFrames } from '../report.ts'

/** Beyond these a call is no good one any more. */
export const MOST_LATENCY_MS = 60
export const MOST_LOSS = 0.001

/** A load that is later than this, or takes so much of its core, may be the limit itself. */
const LOAD_LAG_MS = 10
const LOAD_CPU_MS = 850

export interface Judgement {
  p50: number
  p99: number
  /** Of frames that somebody should have heard, 0 to 1. */
  loss: number
  holds: boolean
  /** Why not; empty when it holds. */
  why: string
  /** What is known may be of the load, not of what it measures. */
  isOfLoad: boolean
}

/** What a measurement says of a number of legs. */
export function judge(load: LoadResult): Judgement {
  const latency = load.streams === null ? load.latencyMs : load.streams.latencyMs
  const expected = load.streams?.framesExpected ?? load.framesExpected
  const lost = load.streams === null ? lostFrames(load) : expected - load.streams.framesReceived
  const [p50, p99] = [latency?.p50 ?? Number.POSITIVE_INFINITY, latency?.p99 ?? Number.POSITIVE_INFINITY]
  const loss = expected === 0 ? 1 : Math.max(0, lost / expected)
  const reasons = []
  if (p99 > MOST_LATENCY_MS) reasons.push(`p99 ${p99.toFixed(0)} ms`)
  if (loss > MOST_LOSS) reasons.push(`lost ${(100 * loss).toFixed(2)} %`)
  const lag = load.paceLagMs?.p99 ?? 0
  return {
    ...{ p50, p99, loss, holds: reasons.length === 0, why: reasons.join(', ') },
    isOfLoad: reasons.length > 0 && (lag > LOAD_LAG_MS || load.ownCpuMs > LOAD_CPU_MS),
  }
}
