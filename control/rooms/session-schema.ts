import Type, { type Static } from 'typebox'
import { durationOf } from '../calls/duration.ts'
import type { SessionNotes } from '../calls/session-state.ts'
import type { CallRow } from '../calls/tables.ts'
import { oneOf, timestamp } from '../kernel/schema.ts'
import { elapsedMs } from '../kernel/store/node.ts'
import type { Db } from '../kernel/store/store.ts'

/** Specification, "ConferenceSession". */
export const conferenceSessionSchema = Type.Object({
  id: Type.String({ description: "ID of the session's call, which has its recording and transcript." }),
  object: Type.Literal('conference_session'),
  livemode: Type.Boolean(),
  started_at: timestamp(),
  duration_ms: Type.Integer({ description: 'Up to now, while in progress.' }),
  participants: Type.Integer({ description: 'Participants so far.' }),
  status: oneOf(['in_progress', 'ended']),
  notes: Type.Object(
    {
      summary: Type.String(),
      decisions: Type.Array(Type.String()),
      action_items: Type.Array(Type.String()),
    },
    { description: 'AI meeting notes; empty if none were taken.' },
  ),
})
export type ConferenceSession = Static<typeof conferenceSessionSchema>

export function toSession(
  db: Db,
  row: CallRow,
  { participants, notes, now }: { participants: number; notes: SessionNotes; now: Date },
): ConferenceSession {
  const startedAt = row.answered_at ?? row.created
  const since = { steadyMs: row.started_ms, node: row.started_on, at: startedAt }
  const durationMs = row.ended_at === null ? elapsedMs(db, since, now.toISOString()) : durationOf(row, row.ended_at)
  return {
    id: row.id,
    object: 'conference_session',
    livemode: row.livemode === 1,
    started_at: startedAt,
    duration_ms: durationMs,
    participants,
    status: row.ended_at === null ? 'in_progress' : 'ended',
    notes,
  }
}
