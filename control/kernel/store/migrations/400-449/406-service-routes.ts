import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** The way that a registrar wants calls to take (RFC 3608), for every node that places them. */
export const serviceRoutes: Migration = {
  up: db => addColumns(db, 'connections', { service_route: { default: '[]' } }),
}
