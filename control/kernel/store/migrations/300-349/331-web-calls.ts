import type { Kysely, Migration } from 'kysely'
import { addIndex, tenantTable } from '../columns.ts'

/** Which calls were made by browsers, and from which website. */
export const webCalls: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'web_calls')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('assistant_id', 'text')
      .addColumn('origin', 'text')
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .execute()
    await addIndex(db, 'web_calls_tenant', 'web_calls', ['organisation_id', 'livemode', 'id'])
  },
}
