/** How many calls may begin now. All of it is pure: the time and what was counted are arguments. */

/** What was not used of the rate in this time is lost, so that a pause is followed by no burst [ms]. */
const SAVED_MS = 500

/** Calls that the rate allows now. `nextCallMs`: when the next may begin, Unix time [ms]. */
export function rateAllows({ nextCallMs, perSecond, nowMs }: Rate): number {
  const stepMs = 1000 / perSecond
  const from = Math.max(nextCallMs, nowMs - SAVED_MS)
  return from > nowMs ? 0 : Math.floor((nowMs - from) / stepMs) + 1
}

/** When the next may begin after so many have. */
export function nextCallMs({ nextCallMs: before, perSecond, nowMs }: Rate, calls: number): number {
  const from = Math.max(before, nowMs - SAVED_MS)
  return calls === 0 ? before : Math.ceil(from + (calls * 1000) / perSecond)
}

export interface Rate {
  nextCallMs: number
  perSecond: number
  nowMs: number
}

/** The figures that a predictive dialler goes by, of the last 24 hours. */
export interface Reached {
  /** Attempts that are over. */
  tried: number
  /** Of them answered by somebody. */
  answered: number
  /** Of those found no agent. */
  abandoned: number
}

/** Attempts before which nothing is known of how many are answered. */
const MIN_TRIED = 30
/** More calls than this for each free agent are placed for no answer rate. */
const MAX_RATIO = 5
/** Share of the limit that is used: agents may leave while calls ring. */
const MARGIN = 0.8

/**
 * Calls that may begin now for agents. `progressive`: one for each free agent. `predictive`: as many as are likely to give each free agent one who
 * answers, and never more beyond the free agents than may be abandoned: were all in the air answered, the limit [%] would hold.
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
