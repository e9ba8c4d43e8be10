import { MOST_LATENCY_MS, MOST_LOSS } from '../capacity/judge.ts'
import { lostFrames } from '../report.ts'
import type { SoakReport } from './run.ts'
import { WATCHED, type Watched } from './samples.ts'
import { grows, median, type Trend, trendOf } from './trend.ts'

/** Share of the time that is left out at the start: memory that caches and compiled code take then is no leak. */
const SETTLING = 1 / 3
/** Less growth within the soak cannot be told from noise [bytes]. */
const LEAST_GROWTH = 4 * 2 ** 20
/** Likewise for open files, since calls open and close some. */
const LEAST_FILES = 4
/** Maximum median of the drift over all parts: the load runs on the same machine, so its clock does not differ from the engine's [ppm]. */
const MOST_DRIFT_PPM = 20
/** Maximum shares of slots that begin more than 2 ms and more than 5 ms late. */
const MOST_BEHIND = 0.01
const MOST_LATE = 0.001

interface Line {
  what: string
  holds: boolean
}

interface Growth {
  name: Watched
  first: number
  last: number
  trend: Trend | null
  grows: boolean
}

/** The course of each watched value after `SETTLING`. */
export function growthOf({ samples }: Pick<SoakReport, 'samples'>): Growth[] {
  const until = samples.at(-1)?.at ?? 0
  const settled = samples.filter(({ at }) => at >= until * SETTLING)
  const span = until - (settled[0]?.at ?? 0)
  return WATCHED.map(name => {
    const points = settled.map(({ at, values }) => ({ x: at, y: values[name] }))
    const trend = trendOf(points)
    const least = name.endsWith('files') ? LEAST_FILES : LEAST_GROWTH
    return {
      name,
      first: points[0]?.y ?? Number.NaN,
      last: points.at(-1)?.y ?? Number.NaN,
      trend,
      grows: trend !== null && grows(trend, span, least),
    }
  })
}

/** Shares of late slots, and number of skipped ones, between the first and the last sample. */
function lateness({ samples }: Pick<SoakReport, 'samples'>): { behind: number; late: number; skipped: number } {
  const [first, last] = [samples[0]!.slots, samples.at(-1)!.slots]
  const all = Math.max(1, last.all - first.all)
  return {
    behind: (last.behind - first.behind) / all,
    late: (last.late - first.late) / all,
    skipped: last.skipped - first.skipped,
  }
}

/** This share of the slots between the first and the last sample began at most this late: the next higher bound of the histogram [ms]. */
export function latenessAt({ samples }: Pick<SoakReport, 'samples'>, share: number): number {
  const [first, last] = [samples[0]!.lateness, samples.at(-1)!.lateness]
  const within = last.map(({ ms, slots }, n) => ({ ms, slots: slots - (first[n]?.slots ?? 0) }))
  const wanted = share * (within.at(-1)?.slots ?? 0)
  return within.find(({ slots }) => slots >= wanted)?.ms ?? Number.NaN
}

/** Each requirement, and whether the product meets it. */
export function soakVerdict(report: SoakReport): Line[] {
  const loads = report.parts.map(({ load }) => load)
  const lost = loads.reduce((sum, load) => sum + lostFrames(load), 0)
  const expected = loads.reduce((sum, load) => sum + load.framesExpected, 0)
  const own = loads.reduce((sum, load) => sum + load.framesOwn + load.framesStray, 0)
  const worst = Math.max(...loads.map(load => load.latencyMs?.p99 ?? Number.POSITIVE_INFINITY))
  const drift = median(loads.flatMap(({ driftPpm }) => (driftPpm === null ? [] : [driftPpm])))
  const { behind, late, skipped } = lateness(report)
  const percent = (share: number): string => `${(100 * share).toFixed(3)} %`
  const memory = growthOf(report).filter(({ grows }) => grows)
  return [
    {
      what: `lost ${lost} of ${expected} frames (${percent(lost / Math.max(1, expected))})`,
      holds: expected > 0 && lost / expected <= MOST_LOSS,
    },
    { what: `p99 of the added latency in the worst part: ${worst.toFixed(1)} ms`, holds: worst <= MOST_LATENCY_MS },
    { what: `nobody hears himself or another room: ${own} frames`, holds: own === 0 },
    {
      what: `slots more than 2 ms late: ${percent(behind)} (p99 below 2 ms; is below ${latenessAt(report, 0.99)} ms)`,
      holds: behind <= MOST_BEHIND,
    },
    {
      what: `slots more than 5 ms late: ${percent(late)}, ${skipped} left out (p99.9 below 5 ms; is below ${latenessAt(report, 0.999)} ms)`,
      holds: late <= MOST_LATE && skipped === 0,
    },
    { what: `drift ${drift.toFixed(1)} ppm`, holds: Math.abs(drift) <= MOST_DRIFT_PPM },
    {
      what: `${report.calls} calls came and went, ${report.problems.length} with a problem`,
      holds: report.calls > 0 && report.problems.length === 0,
    },
    {
      what: memory.length === 0 ? 'nothing grows' : `grows: ${memory.map(({ name }) => name).join(', ')}`,
      holds: memory.length === 0,
    },
  ]
}
