import type { Kysely, Migration } from 'kysely'

/** A transcript holds what the product said too. */
export const transcriptSpeakers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('transcript_segments')
      .addColumn('speaker', 'text', column => column.notNull().defaultTo('participant'))
      .execute()
  },
}
