import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Whether a connection's audio is encrypted. */
export const connectionSrtp: Migration = {
  up: db => addColumns(db, 'connections', { srtp: { default: 'off' } }),
}
