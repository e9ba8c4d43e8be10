import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Figures of a call for insights, without their source, so that little is read for hundreds of thousands of calls. */
export const countedCalls: Migration = {
  up: db => addColumns(db, 'call_summaries', { counted: 'text?' }),
}
