import { type Kysely, type Migration, sql } from 'kysely'

/** On PostgreSQL they are there already (`migrate.ts`). */
export const INDEXES_OF_ONE_CALL = [
  'events_of_call on events (organisation_id, livemode, call_id, id) where call_id is not null',
  'events_of_type on events (organisation_id, livemode, type, id)',
  'call_marks_own_call on call_marks (organisation_id, livemode, call_id)',
  'copilot_sessions_of_call on copilot_sessions (organisation_id, livemode, call_id, id)',
  'call_steps_of_call on call_steps (organisation_id, livemode, call_id, id)',
  'usage_entries_of_source on usage_entries (organisation_id, livemode, source_id, id)',
  "calls_unusual on calls (organisation_id, livemode, status, id) where status <> 'completed'",
  "calls_conferences on calls (organisation_id, livemode, id) where kind <> 'party'",
]

/**
 * SQLite takes the index that more equal columns begin with, so that it looked through all events of an organisation for those of a call. What is
 * found by a call has an index that begins with the tenant, and ends as lists are ordered. The last two are for lists of what is seldom there.
 */
export const ofOneCall: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const index of INDEXES_OF_ONE_CALL) await sql.raw(`create index if not exists ${index}`).execute(db)
    // Last, since nobody may read a table from then until the end of the migration.
    const before = 'events_call events_time call_marks_of_call copilot_sessions_own_call_id call_steps_call'
    for (const index of before.split(' ')) await db.schema.dropIndex(index).execute()
  },
}
