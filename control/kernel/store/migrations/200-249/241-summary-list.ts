import type { Kysely, Migration } from 'kysely'

/** The list of the calls behind an insight is read in its order, however many there are. */
export const summaryList: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createIndex('call_summaries_organisation_id')
      .on('call_summaries')
      .columns(['organisation_id', 'livemode', 'id'])
      .execute()
  },
}
