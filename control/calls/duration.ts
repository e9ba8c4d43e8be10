import { elapsedMs, nodeOf, steadyMsOf } from '../kernel/store/node.ts'
import type { Db } from '../kernel/store/store.ts'
import type { CallRow } from './tables.ts'

/** From a call's answer to its end [ms], as media has measured it. If nobody measured it, by the wall clock, which an operator may have set back. */
export const durationOf = (call: Pick<CallRow, 'answered_at' | 'duration_ms'>, endedAt: string): number =>
  call.answered_at === null ? 0 : (call.duration_ms ?? Math.max(0, Date.parse(endedAt) - Date.parse(call.answered_at)))

/** The columns that `lastedMs` needs, for a call that is answered now or a session that begins. */
export const startOf = (db: Db): Pick<CallRow, 'started_ms' | 'started_on'> => ({
  started_ms: steadyMsOf(db),
  started_on: nodeOf(db),
})

/** From its answer until now [ms], measured by the node that answered it. Needed if media died with its own measurement. */
export const lastedMs = (db: Db, call: CallRow, now: string): number =>
  call.answered_at === null
    ? 0
    : elapsedMs(db, { steadyMs: call.started_ms, node: call.started_on, at: call.answered_at }, now)
