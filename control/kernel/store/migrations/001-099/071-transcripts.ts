import type { Kysely, Migration } from 'kysely'
import { objectTable } from '../columns.ts'

/** The words of calls, with speaker and time. */
export const transcripts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await objectTable(db, 'transcripts')
      .addColumn('status', 'text', column => column.notNull())
      .addColumn('language', 'text')
      .addColumn('duration_ms', 'integer')
      .addColumn('created', 'text', column => column.notNull())
      .execute()
    await objectTable(db, 'transcript_segments')
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
