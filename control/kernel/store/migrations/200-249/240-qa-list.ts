import type { Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** The list of evaluations is read in its order, however many there are. */
export const qaList: Migration = {
  up: db => addIndex(db, 'qa_evaluations_organisation_id', 'qa_evaluations', ['organisation_id', 'livemode', 'id']),
}
