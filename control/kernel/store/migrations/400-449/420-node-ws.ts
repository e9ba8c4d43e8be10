import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

export const nodeWs: Migration = {
  up: db => addColumns(db, 'nodes', { ws: 'text?' }),
}
