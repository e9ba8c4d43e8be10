import type { Kysely, Migration } from 'kysely'

/** When calls of an organisation last came up against its plan. */
export const limitsReached: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('partner_organisations').addColumn('limits_reached', 'text').execute()
  },
}
