import { NO_NOTES, notesOf } from '../calls/session-state.ts'
import type { CallRow } from '../calls/tables.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { type ConferenceSession, toSession } from './session-schema.ts'

/** Number of participants, by session ID. */
export async function participantCounts(db: Db, tenant: Tenant, ids: string[]): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await forTenant(db, tenant)
    .select('participants')
    .select(({ fn }) => ['session_call_id', fn.countAll<number | string>().as('count')])
    .where('session_call_id', 'in', ids)
    .where('joined_at', 'is not', null)
    .groupBy('session_call_id')
    .execute()
  return new Map(rows.map(({ session_call_id, count }) => [session_call_id ?? '', Number(count)]))
}

/** A session as it is now. */
export async function toConferenceSession(db: Db, tenant: Tenant, row: CallRow, now: Date): Promise<ConferenceSession> {
  const counts = await participantCounts(db, tenant, [row.id])
  const notes = await notesOf(db, tenant, [row.id])
  return toSession(db, row, { participants: counts.get(row.id) ?? 0, notes: notes.get(row.id) ?? NO_NOTES, now })
}
