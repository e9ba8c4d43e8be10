import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** A transcript holds what the product said too. */
export const transcriptSpeakers: Migration = {
  up: db => addColumns(db, 'transcript_segments', { speaker: { default: 'participant' } }),
}
