import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

export const whyUnreached: Migration = {
  up: db => addColumns(db, 'media_streams', { ended_detail: 'text?' }),
}
