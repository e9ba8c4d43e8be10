import type { Kysely, Migration } from 'kysely'
import { addIndex, tenantTable } from '../columns.ts'

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
    await addIndex(db, 'do_not_call_by_id', 'do_not_call', ['organisation_id', 'livemode', 'id'])
  },
}
