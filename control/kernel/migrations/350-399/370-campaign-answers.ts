import type { Kysely, Migration } from 'kysely'

/** Who has answered an attempt. */
export const campaignAnswers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('campaign_attempts').addColumn('answered_by', 'text').execute()
  },
}
