/** How many calls may begin now. Pure: the time and all counts are arguments. */

/** Calls are stored this long before they go out, each with its own time: longer than the dialler's interval [ms]. */
export const AHEAD_MS = 400
/** How far ahead the next call may lie. Anything later was written before the clock was set back, and is ignored [ms]. */
export const MAX_AHEAD_MS = 30_000
/** A far end uses its own clock, and a call takes its time to go out: its second is a little longer here, as of connections [ms]. */
const SECOND_MS = 1050

/** Maximum number of calls that begin in a second, evenly spaced: unused places are lost, so no burst follows a pause. */
export interface Rate {
  /** When the next may begin, Unix time [ms]. */
  nextCallMs: number
  perSecond: number
  nowMs: number
}

/** When the next may begin, in any case: not before now. */
export const nextFrom = (nextCallMs: number, nowMs: number): number =>
  nextCallMs > nowMs + MAX_AHEAD_MS ? nowMs : Math.max(nextCallMs, nowMs)

/** Calls that may be stored now. */
export function rateAllows({ nextCallMs, perSecond, nowMs }: Rate): number {
  const aheadMs = nowMs + AHEAD_MS - nextFrom(nextCallMs, nowMs)
  return aheadMs < 0 ? 0 : Math.floor((aheadMs * perSecond) / SECOND_MS) + 1
}

/** When the `nth` of them goes out, from 0, Unix time [ms]; the next may begin when it would. */
export const startOf = ({ nextCallMs, perSecond, nowMs }: Rate, nth: number): number =>
  Math.ceil(nextFrom(nextCallMs, nowMs) + (nth * SECOND_MS) / perSecond)

/** The figures that a predictive dialler goes by, of the last 24 hours. */
export interface Reached {
  /** Attempts that are over. */
  tried: number
  /** Of these, answered by somebody. */
  answered: number
  /** Of these, without a free agent. */
  abandoned: number
}

/** Attempts before which nothing is known of how many are answered. */
const MIN_TRIED = 30
/** More calls than this for each free agent are placed for no answer rate. */
const MAX_RATIO = 5
/** Share of the limit that is used: agents may leave while calls ring. */
const MARGIN = 0.8

/**
 * Number of calls that may begin now for agents. `progressive`: one for each free agent. `predictive`: as many as are likely to give each free
 * agent one answered call. The calls beyond the free agents never exceed what may be abandoned: the limit [%] would hold even if all of them were
 * answered.
 */
export function callsForAgents(
  mode: 'progressive' | 'predictive',
  { free, ringing, reached, limitPct }: { free: number; ringing: number; reached: Reached; limitPct: number },
): number {
  if (free <= 0) return 0
  if (mode === 'progressive' || reached.tried < MIN_TRIED) return Math.max(0, free - ringing)
  const ratio = Math.min(MAX_RATIO, reached.tried / Math.max(1, reached.answered))
  const mayBeLost = Math.floor((MARGIN * limitPct * reached.answered) / 100) - reached.abandoned
  return Math.max(0, Math.min(Math.floor(free * ratio), free + Math.max(0, mayBeLost)) - ringing)
}
