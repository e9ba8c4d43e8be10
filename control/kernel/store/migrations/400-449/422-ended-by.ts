import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

export const endedBy: Migration = {
  up: db => addColumns(db, 'participants', { ended_by: 'text?' }),
}
