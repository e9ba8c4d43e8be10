import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** When a session of a room began by a clock that nobody sets, and of which node that clock is. */
export const steadySessions: Migration = {
  up: db => addColumns(db, 'calls', { started_ms: 'integer?', started_on: 'text?' }),
}
