import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Which node attempts a job: its next process need not wait until the lease of the one before has run out. */
export const jobNodes: Migration = {
  up: db => addColumns(db, 'jobs', { node: 'text?' }),
}
