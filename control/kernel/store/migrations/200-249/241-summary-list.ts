import type { Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** The list of the calls behind an insight is read in its order, however many there are. */
export const summaryList: Migration = {
  up: db => addIndex(db, 'call_summaries_organisation_id', 'call_summaries', ['organisation_id', 'livemode', 'id']),
}
