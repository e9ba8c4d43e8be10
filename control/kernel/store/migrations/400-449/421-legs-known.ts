import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** What a leg is to do or hear, in its current form. */
export const legRevisions: Migration = { up: db => addColumns(db, 'participants', { revision: { default: 0 } }) }
export const endedBy: Migration = { up: db => addColumns(db, 'participants', { ended_by: 'text?' }) }
