import type { Kysely, Migration } from 'kysely'

/** Wrong PINs, of a caller, at a room and in an organisation: kept beyond the call, for all nodes. */
export const pinTries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('pin_tries')
      .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
      .addColumn('livemode', 'integer', column => column.notNull())
      .addColumn('guesser', 'text', column => column.notNull())
      .addColumn('count', 'integer', column => column.notNull())
      .addColumn('until', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('pin_tries_pk', ['organisation_id', 'livemode', 'guesser'])
      .execute()
  },
}
