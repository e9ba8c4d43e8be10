import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** When an inbound route leads calls. */
export const routeHours: Migration = {
  up: db => addColumns(db, 'inbound_routes', { hours: 'text?' }),
}
