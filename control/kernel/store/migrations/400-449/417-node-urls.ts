import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

export const nodeUrls: Migration = {
  up: db => addColumns(db, 'nodes', { url: 'text?' }),
}
