import type { CallRow } from './tables.ts'

/**
 * From a call's answer to its end [ms]: as media has measured it. What nobody measured, since media died for example, by the times of
 * day, which an operator may have set back.
 */
export const durationOf = (call: Pick<CallRow, 'answered_at' | 'duration_ms'>, endedAt: string): number =>
  call.answered_at === null ? 0 : (call.duration_ms ?? Math.max(0, Date.parse(endedAt) - Date.parse(call.answered_at)))
