import type { Kysely, Migration } from 'kysely'
import { tenantTable } from '../columns.ts'

/** Wrong PINs, of a caller, at a room and in an organisation: kept beyond the call, for all nodes. */
export const pinTries: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'pin_tries')
      .addColumn('guesser', 'text', column => column.notNull())
      .addColumn('count', 'integer', column => column.notNull())
      .addColumn('until', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('pin_tries_pk', ['organisation_id', 'livemode', 'guesser'])
      .execute()
  },
}
