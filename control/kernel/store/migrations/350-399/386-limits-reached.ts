import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** When calls of an organisation last came up against its plan. */
export const limitsReached: Migration = {
  up: db => addColumns(db, 'partner_organisations', { limits_reached: 'text?' }),
}
