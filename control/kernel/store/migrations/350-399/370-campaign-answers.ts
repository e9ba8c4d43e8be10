import type { Kysely, Migration } from 'kysely'

/** Who answered an attempt, and when that was known. */
export const campaignAnswers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('campaign_attempts').addColumn('answered_by', 'text').execute()
    await db.schema.alterTable('campaign_attempts').addColumn('found_out_at', 'text').execute()
  },
}
