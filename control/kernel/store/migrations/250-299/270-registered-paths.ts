import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** The proxies between us and a phone that has registered (RFC 3327), as a JSON list. */
export const registeredPaths: Migration = {
  up: db => addColumns(db, 'sip_registrations', { path: { default: '[]' } }),
}
