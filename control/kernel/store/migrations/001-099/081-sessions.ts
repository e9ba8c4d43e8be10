import type { Kysely, Migration } from 'kysely'

/** Fields of a conference session besides its call: the lock, and the notes. */
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
