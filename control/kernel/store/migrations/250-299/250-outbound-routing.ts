import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Several hosts of a connection, when the next one is tried, and which numbers go out over which connection in which form. */
export const outboundRouting: Migration = {
  up: db =>
    addColumns(db, 'connections', {
      hosts: { default: '[]' },
      failover_on: { default: '[503]' },
      rates: { default: '[]' },
      follow_redirects: { default: 0 },
      number_format: { default: 'e164' },
      number_country: 'text?',
      dial_prefix: { default: '' },
      caller_number: 'text?',
    }),
}
