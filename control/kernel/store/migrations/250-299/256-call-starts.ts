import type { Kysely, Migration } from 'kysely'
import { tenantTable } from '../columns.ts'

/** How many calls a second a connection takes and places. */
export const callStarts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('connections').addColumn('calls_per_second', 'integer').execute()
    await tenantTable(db, 'call_starts')
      .addColumn('connection_id', 'text', column => column.notNull())
      .addColumn('direction', 'text', column => column.notNull())
      .addColumn('next_us', 'integer', column => column.notNull())
      .addPrimaryKeyConstraint('call_starts_pk', ['connection_id', 'direction'])
      .execute()
  },
}
