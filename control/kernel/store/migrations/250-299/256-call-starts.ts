import type { Kysely, Migration } from 'kysely'
import { addColumns, tenantTable } from '../columns.ts'

/** How many calls a second a connection takes and places. */
export const callStarts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'connections', { calls_per_second: 'integer?' })
    await tenantTable(db, 'call_starts')
      .addColumn('connection_id', 'text', column => column.notNull())
      .addColumn('direction', 'text', column => column.notNull())
      .addColumn('next_us', 'integer', column => column.notNull())
      .addPrimaryKeyConstraint('call_starts_pk', ['connection_id', 'direction'])
      .execute()
  },
}
