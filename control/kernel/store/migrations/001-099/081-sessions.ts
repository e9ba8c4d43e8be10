import type { Kysely, Migration } from 'kysely'

/** What a conference session has beyond its call: whether it is locked, and the notes that were taken. */
export const sessions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('session_states')
      .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
      .addColumn('livemode', 'integer', column => column.notNull())
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('locked', 'integer')
      .addColumn('notes', 'text')
      .execute()
  },
}
