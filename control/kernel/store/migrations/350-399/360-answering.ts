import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** How it is found out who has answered a call that goes out, and who it was. */
export const answering: Migration = {
  up: db => addColumns(db, 'calls', { answering: 'text?', answered_by: 'text?' }),
}
