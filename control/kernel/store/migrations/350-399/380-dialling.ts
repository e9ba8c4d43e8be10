import type { Kysely, Migration } from 'kysely'

/** The dialler asks four times a second: the calls that a campaign has begun are not counted each time, and a day's results come from an index. */
export const dialling: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('campaigns')
      .addColumn('calls_begun', 'integer', column => column.notNull().defaultTo(0))
      .execute()
    await db.schema.dropIndex('campaign_attempts_time').execute()
    await db.schema
      .createIndex('campaign_attempts_day')
      .on('campaign_attempts')
      .columns(['campaign_id', 'started_at', 'result', 'answered_at'])
      .execute()
  },
}
