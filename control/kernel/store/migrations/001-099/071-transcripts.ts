import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, objectTable } from '../columns.ts'

/** The words of calls, with speaker and time. */
export const transcripts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(objectTable(db, 'transcripts'), {
      status: 'text',
      language: 'text?',
      duration_ms: 'integer?',
      created: 'text',
    })
    await createWith(objectTable(db, 'transcript_segments'), {
      call_id: 'text',
      participant_id: 'text',
      text: 'text',
      start_ms: 'integer',
      end_ms: 'integer',
    })
    await addIndex(db, 'transcripts_status', 'transcripts', ['status'])
    await addIndex(db, 'transcript_segments_call', 'transcript_segments', ['call_id', 'start_ms'])
  },
}
