import type { Kysely, Migration } from 'kysely'

/** Numbers that an organisation must not call. */
export const doNotCall: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('do_not_call')
      .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
      .addColumn('livemode', 'integer', column => column.notNull())
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('phone', 'text', column => column.notNull())
      .addColumn('reason', 'text', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .addUniqueConstraint('do_not_call_by_phone', ['organisation_id', 'livemode', 'phone'])
      .execute()
    await db.schema
      .createIndex('do_not_call_by_id')
      .on('do_not_call')
      .columns(['organisation_id', 'livemode', 'id'])
      .execute()
  },
}
