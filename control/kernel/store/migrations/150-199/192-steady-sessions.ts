import type { Kysely, Migration } from 'kysely'

/** When a session of a room began by a clock that nobody sets, and of which node that clock is. */
export const steadySessions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('calls').addColumn('started_ms', 'integer').execute()
    await db.schema.alterTable('calls').addColumn('started_on', 'text').execute()
  },
}
