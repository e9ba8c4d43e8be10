import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** The owner of a job: organisations share the places for running jobs. Older jobs belong to nobody, which counts as one more owner. */
export const jobOwners: Migration = {
  up: db => addColumns(db, 'jobs', { organisation_id: 'text?' }),
}
