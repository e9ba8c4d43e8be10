import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Why a transcript could not be written. */
export const transcriptFailures: Migration = {
  up: db => addColumns(db, 'transcripts', { failed_reason: 'text?' }),
}
