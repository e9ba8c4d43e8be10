import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** When a call joined its queue by a clock that nobody sets, and of which node that clock is. */
export const steadyWaits: Migration = {
  up: db => addColumns(db, 'queue_calls', { joined_ms: 'integer?', joined_on: 'text?' }),
}
