import type { Kysely, Migration } from 'kysely'

/** How many calls a second a connection takes and places. */
export const callStarts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('connections').addColumn('calls_per_second', 'integer').execute()
    await db.schema
      .createTable('call_starts')
      .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
      .addColumn('livemode', 'integer', column => column.notNull())
      .addColumn('connection_id', 'text', column => column.notNull())
      .addColumn('direction', 'text', column => column.notNull())
      .addColumn('next_us', 'integer', column => column.notNull())
      .addPrimaryKeyConstraint('call_starts_pk', ['connection_id', 'direction'])
      .execute()
  },
}
