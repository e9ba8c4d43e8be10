import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Since when a caller waits who is back in line. */
export const backInLine: Migration = { up: db => addColumns(db, 'queue_calls', { back_at: 'text?' }) }
