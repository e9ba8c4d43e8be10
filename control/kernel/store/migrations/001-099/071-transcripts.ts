import type { Kysely, Migration } from 'kysely'

/** The words of calls, with speaker and time. */
export const transcripts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('transcripts')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
      .addColumn('livemode', 'integer', column => column.notNull())
      .addColumn('status', 'text', column => column.notNull())
      .addColumn('language', 'text')
      .addColumn('duration_ms', 'integer')
      .addColumn('created', 'text', column => column.notNull())
      .execute()
    await db.schema
      .createTable('transcript_segments')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
      .addColumn('livemode', 'integer', column => column.notNull())
      .addColumn('call_id', 'text', column => column.notNull())
      .addColumn('participant_id', 'text', column => column.notNull())
      .addColumn('text', 'text', column => column.notNull())
      .addColumn('start_ms', 'integer', column => column.notNull())
      .addColumn('end_ms', 'integer', column => column.notNull())
      .execute()
    await db.schema.createIndex('transcripts_status').on('transcripts').columns(['status']).execute()
    await db.schema
      .createIndex('transcript_segments_call')
      .on('transcript_segments')
      .columns(['call_id', 'start_ms'])
      .execute()
  },
}
