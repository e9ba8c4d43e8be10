import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

export const nodeSip: Migration = {
  up: db => addColumns(db, 'nodes', { sip: 'text?' }),
}
