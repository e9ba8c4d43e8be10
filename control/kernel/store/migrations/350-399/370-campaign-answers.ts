import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Who answered an attempt, and when that was known. */
export const campaignAnswers: Migration = {
  up: db => addColumns(db, 'campaign_attempts', { answered_by: 'text?', found_out_at: 'text?' }),
}
