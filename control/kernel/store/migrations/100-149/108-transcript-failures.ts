import type { Kysely, Migration } from 'kysely'

/** Why a transcript could not be written. */
export const transcriptFailures: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('transcripts').addColumn('failed_reason', 'text').execute()
  },
}
