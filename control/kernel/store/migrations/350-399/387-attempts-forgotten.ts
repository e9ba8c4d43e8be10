import type { Kysely, Migration } from 'kysely'

/** When the number of a deleted contact has counted for the caps long enough. */
export const attemptsForgotten: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('campaign_attempts').addColumn('forget_at', 'text').execute()
    await db.schema
      .createIndex('campaign_attempts_forget')
      .on('campaign_attempts')
      .columns(['forget_at'])
      .where('forget_at' as never, 'is not', null)
      .execute()
  },
}
