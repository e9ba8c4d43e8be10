import { type Kysely, type Migration, type SqlBool, sql } from 'kysely'

/**
 * A call changed some fifty indexes, each a page to be written by every commit. Entries that nobody looks for are no longer made: what a call
 * has not (a room, a queue, a member), what has ended in an index of what runs, what is open in one of what is closed.
 */
export const fewerEntries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    // `calls_by_created` begins with its columns; what has ended is found by `calls_kept`.
    for (const index of ['calls_created', 'calls_ended_at', 'participants_left_at']) {
      await db.schema.dropIndex(index).execute()
    }
    const only = async (index: string, table: string, columns: string[], where: string) => {
      await db.schema.dropIndex(index).execute()
      await db.schema.createIndex(index).on(table).columns(columns).where(sql.raw<SqlBool>(where)).execute()
    }
    await only('calls_running', 'calls', ['node_id'], 'ended_at is null')
    for (const column of ['room_id', 'user_id', 'queue_id', 'ended_reason']) {
      const index = column === 'room_id' ? 'calls_by_room_id_id' : `calls_of_${column}`
      await only(index, 'calls', ['organisation_id', 'livemode', column, 'id'], `${column} is not null`)
    }
    await only('participants_session_call_id', 'participants', ['session_call_id'], 'session_call_id is not null')
    await only('participants_by_ring', 'participants', ['ring_id'], 'ring_id is not null')
    // Of what is not attempted any more there is no next attempt.
    await only('webhook_deliveries_due', 'webhook_deliveries', ['next_attempt_at', 'id'], 'next_attempt_at is not null')
    await only('webhook_deliveries_closed', 'webhook_deliveries', ['updated'], 'next_attempt_at is null')
  },
}
