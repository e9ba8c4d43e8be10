import { nodeOf } from '../../kernel/store/node.ts'
import type { Db } from '../../kernel/store/store.ts'
import { ALL_STEPS } from '../steps/table.ts'
import type { CallRow } from '../tables.ts'

// What the database says is running: for all tenants, since one media process serves them all, but only at this node.

// With `!=` or `not in`, the database would read all legs that ever were.
export const RUNNING = ALL_STEPS.filter(step => step !== 'ended')
export const DIALLED = RUNNING.filter(step => step !== 'to_dial')

/** The calls' own legs that media has, or all with those that are still to be dialled. */
export async function runningLegs(db: Db, which: 'all' | 'dialled' = 'dialled'): Promise<string[]> {
  const rows = await db
    .selectFrom('participants')
    .innerJoin('calls', 'calls.id', 'participants.call_id')
    .select('participants.id')
    .where('calls.ended_at', 'is', null)
    .where('participants.node_id', '=', nodeOf(db))
    .where('participants.ring_id', 'is', null)
    .where('participants.step', 'in', which === 'all' ? RUNNING : DIALLED)
    .orderBy('participants.id')
    .execute()
  return rows.map(row => row.id)
}

export const runningSessions = (db: Db) =>
  db
    .selectFrom('calls')
    .selectAll()
    .where('node_id', '=', nodeOf(db))
    .where('ended_at', 'is', null)
    .where('kind', '=', 'conference')
    .execute()

export const runningStreams = (db: Db) =>
  db
    .selectFrom('media_streams')
    .innerJoin('calls', 'calls.id', 'media_streams.call_id')
    .selectAll('media_streams')
    .where('calls.node_id', '=', nodeOf(db))
    .where('media_streams.ended_reason', 'is', null)
    .orderBy('media_streams.id')
    .execute()

export const runningRecordings = (db: Db) =>
  db
    .selectFrom('recordings')
    .innerJoin('calls', 'calls.id', 'recordings.call_id')
    .select('recordings.call_id')
    .where('calls.node_id', '=', nodeOf(db))
    .where('recordings.status', '=', 'recording')
    .execute()

export async function runningPauses(db: Db): Promise<{ call: CallRow; pauseId: string }[]> {
  const rows = await db
    .selectFrom('calls')
    .innerJoin('capture_pauses', 'capture_pauses.call_id', 'calls.id')
    .selectAll('calls')
    .select('capture_pauses.id as pause_id')
    .where('calls.node_id', '=', nodeOf(db))
    .orderBy('capture_pauses.id')
    .execute()
  return rows.map(({ pause_id: pauseId, ...call }) => ({ call, pauseId }))
}

export const isRunning = async (db: Db, callId: string): Promise<boolean> => {
  const call = await db.selectFrom('calls').select('ended_at').where('id', '=', callId).executeTakeFirst()
  return call !== undefined && call.ended_at === null
}
