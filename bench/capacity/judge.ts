import type { LoadResult } from '../load/messages.ts'
import { lostFrames } from '../report.ts'

/** Maximum latency [ms] and share of lost frames of a good call. */
export const MOST_LATENCY_MS = 60
export const MOST_LOSS = 0.001

/** A load that sends later than this [ms], reads later than this [ms], or uses more CPU than this [ms/s], may itself be the limit. */
const LOAD_LAG_MS = 10
const READ_LAG_MS = 500
const LOAD_CPU_MS = 850

export interface Judgement {
  p50: number
  p99: number
  /** Share of the expected frames, 0 to 1. */
  loss: number
  holds: boolean
  /** Why it does not hold; empty: it holds. */
  why: string
  /** The load itself may be the limit, instead of the product. */
  isOfLoad: boolean
}

/** Of a number of legs that were not all let in. */
export const refusedWith = (status: number): Judgement => ({
  ...{ p50: Number.NaN, p99: Number.NaN, loss: Number.NaN, holds: false },
  ...{ why: `calls refused with ${status}`, isOfLoad: false },
})

/** Judges the measurement of a number of legs. */
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
  const isBehind = lag > LOAD_LAG_MS || load.readLagMs > READ_LAG_MS || load.ownCpuMs > LOAD_CPU_MS
  return {
    ...{ p50, p99, loss, holds: reasons.length === 0, why: reasons.join(', ') },
    isOfLoad: reasons.length > 0 && isBehind,
  }
}
