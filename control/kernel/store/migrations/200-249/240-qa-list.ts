import type { Kysely, Migration } from 'kysely'

/** The list of evaluations is read in its order, however many there are. */
export const qaList: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createIndex('qa_evaluations_organisation_id')
      .on('qa_evaluations')
      .columns(['organisation_id', 'livemode', 'id'])
      .execute()
  },
}
