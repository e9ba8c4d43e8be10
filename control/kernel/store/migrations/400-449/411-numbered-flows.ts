import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Which phone a registration is of, and which of its ways to us (RFC 5626). */
export const numberedFlows: Migration = {
  up: db => addColumns(db, 'sip_registrations', { instance: 'text?', reg_id: 'integer?' }),
}
