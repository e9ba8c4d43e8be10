import type { Kysely, Migration } from 'kysely'

/** Which agent looks at a contact before it is called. */
export const campaignClaims: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of ['claimed_by', 'claimed_until', 'skip_reason'])
      await db.schema.alterTable('campaign_contacts').addColumn(column, 'text').execute()
    await db.schema.alterTable('campaign_attempts').addColumn('user_id', 'text').execute()
  },
}
