import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Whether the phone of who talks on a call holds the other party. */
export const phonesHold: Migration = {
  up: db => addColumns(db, 'rings', { holds: { default: 0 } }),
}
