import type { Kysely, Migration } from 'kysely'

/** Running calls of which the other party has agreed to be recorded, or has taken that back, until media knows. */
export const captureChanges: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('capture_changes')
      .addColumn('call_id', 'text', column => column.primaryKey())
      .addColumn('organisation_id', 'text', column => column.notNull())
      .addColumn('livemode', 'integer', column => column.notNull())
      .addColumn('node_id', 'text')
      .addColumn('action', 'text', column => column.notNull())
      .execute()
  },
}
