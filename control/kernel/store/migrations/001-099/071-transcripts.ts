import type { Kysely, Migration } from 'kysely'
import { addIndex, objectTable } from '../columns.ts'

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
    await addIndex(db, 'transcripts_status', 'transcripts', ['status'])
    await addIndex(db, 'transcript_segments_call', 'transcript_segments', ['call_id', 'start_ms'])
  },
}
