import Type, { type Static } from 'typebox'
import type { SessionNotes } from '../calls/session-state.ts'
import type { CallRow } from '../calls/tables.ts'
import { oneOf, timestamp } from '../kernel/schema.ts'

/** Specification, "ConferenceSession". */
export const conferenceSessionSchema = Type.Object({
  id: Type.String({ description: "The session's call: its recording and transcript are fetched through the call." }),
  object: Type.Literal('conference_session'),
  livemode: Type.Boolean(),
  started_at: timestamp(),
  duration_ms: Type.Integer({ description: 'So far, while it is in progress.' }),
  participants: Type.Integer({ description: 'Who has been in it.' }),
  status: oneOf(['in_progress', 'ended']),
  notes: Type.Object(
    {
      summary: Type.String(),
      decisions: Type.Array(Type.String()),
      action_items: Type.Array(Type.String()),
    },
    { description: 'AI meeting notes; empty when nobody took any.' },
  ),
})
export type ConferenceSession = Static<typeof conferenceSessionSchema>

export function toSession(row: CallRow, participants: number, notes: SessionNotes, now: Date): ConferenceSession {
  const startedAt = row.answered_at ?? row.created
  const end = row.ended_at === null ? now.getTime() : Date.parse(row.ended_at)
  return {
    id: row.id,
    object: 'conference_session',
    livemode: row.livemode === 1,
    started_at: startedAt,
    duration_ms: row.duration_ms ?? Math.max(0, end - Date.parse(startedAt)),
    participants,
    status: row.ended_at === null ? 'in_progress' : 'ended',
    notes,
  }
}
