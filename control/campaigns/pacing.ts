/** How many calls may begin now. Pure functions: the time and all counts are arguments. */

/** How long before its start a call may be stored, with its own start time [ms]. Longer than the dialler's interval. */
export const AHEAD_MS = 400
/** How far ahead the next call may lie [ms]. Anything later was written before the clock was set back, and is ignored. */
export const MAX_AHEAD_MS = 30_000
/** Slightly more than a second [ms], as for connections: a far end has its own clock, and the time until an INVITE is sent varies. */
const SECOND_MS = 1050

/** Maximum number of calls that begin in a second, evenly spaced. Unused slots are lost, so that no burst follows a pause. */
export interface Rate {
  /** When the next call may begin, Unix time [ms]. */
  nextCallMs: number
  perSecond: number
  nowMs: number
}

/** When the next call may begin, not before now; Unix time [ms]. */
export const nextFrom = (nextCallMs: number, nowMs: number): number =>
  nextCallMs > nowMs + MAX_AHEAD_MS ? nowMs : Math.max(nextCallMs, nowMs)

/** Number of calls that may be stored now. */
export function rateAllows({ nextCallMs, perSecond, nowMs }: Rate): number {
  const aheadMs = nowMs + AHEAD_MS - nextFrom(nextCallMs, nowMs)
  return aheadMs < 0 ? 0 : Math.floor((aheadMs * perSecond) / SECOND_MS) + 1
}

/** When the `nth` of these calls (from 0) is dialled, Unix time [ms]. With their count as `nth`: when the next one after them may begin. */
export const startOf = ({ nextCallMs, perSecond, nowMs }: Rate, nth: number): number =>
  Math.ceil(nextFrom(nextCallMs, nowMs) + (nth * SECOND_MS) / perSecond)

/** Figures of the last 24 hours, for predictive dialling. */
export interface Reached {
  /** Number of attempts that are over. */
  tried: number
  /** How many of these a person has answered. */
  answered: number
  /** How many of these found no free agent. */
  abandoned: number
}

/** Minimum number of attempts from which the answer rate is estimated. */
const MIN_TRIED = 30
/** Maximum number of calls for each free agent, whatever the answer rate. */
const MAX_RATIO = 5
/** Share of the limit that is used: agents may leave while calls ring. */
const MARGIN = 0.8

/**
 * Number of calls that may begin now for agents. `progressive`: one for each free agent. `predictive`: as many as are likely to give each free agent
 * one answered call. Calls beyond the free agents are bounded so that the limit of abandoned calls [%] would hold even if all of them were answered.
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
