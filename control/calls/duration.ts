import { elapsedMs, nodeOf, steadyMsOf } from '../kernel/store/node.ts'
import type { Db } from '../kernel/store/store.ts'
import type { CallRow } from './tables.ts'

/**
 * From a call's answer to its end [ms]: as media has measured it. What nobody measured by the times of day, which an operator may have
 * set back.
 */
export const durationOf = (call: Pick<CallRow, 'answered_at' | 'duration_ms'>, endedAt: string): number =>
  call.answered_at === null ? 0 : (call.duration_ms ?? Math.max(0, Date.parse(endedAt) - Date.parse(call.answered_at)))

/** What a call that is answered now, or a session that begins, needs for `lastedMs`. */
export const startOf = (db: Db): Pick<CallRow, 'started_ms' | 'started_on'> => ({
  started_ms: steadyMsOf(db),
  started_on: nodeOf(db),
})

/** From its answer until now [ms], as the node that answered it measures that itself: media may have died with what it had measured. */
export const lastedMs = (db: Db, call: CallRow, now: string): number =>
  call.answered_at === null
    ? 0
    : elapsedMs(db, { steadyMs: call.started_ms, node: call.started_on, at: call.answered_at }, now)
