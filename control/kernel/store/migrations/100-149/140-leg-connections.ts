import { type Kysely, type Migration, sql } from 'kysely'
import { addColumns } from '../columns.ts'

/** Over which connection a leg runs: each counts for `max_calls`, those that a call is led to as well. Call durations are measured. */
export const legConnections: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'participants', { connection_id: 'text?' })
    await sql`update participants set connection_id =
      (select connection_id from calls where calls.id = participants.call_id)
      where ring_id is null and step <> 'ended'`.execute(db)
    await sql`create index participants_running_on_connection on participants (connection_id) where step <> 'ended'`.execute(
      db,
    )
    await addColumns(db, 'calls', { duration_ms: 'integer?' })
  },
}
