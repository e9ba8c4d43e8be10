import type { Kysely, Migration } from 'kysely'
import { tenantTable } from '../columns.ts'

/** Numbers that an organisation must not call. */
export const doNotCall: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'do_not_call')
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
