import type { Kysely, Migration } from 'kysely'

/** Which nodes are alive. */
export const heartbeats: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('nodes')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('seen_at', 'text', column => column.notNull())
      .addColumn('lost_at', 'text')
      .execute()
  },
}
