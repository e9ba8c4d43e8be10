import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** The identity of a softphone across reconnects: its running call continues with its next connection. */
export const softphoneDevices: Migration = {
  up: db => addColumns(db, 'browser_sessions', { device: 'text?' }),
}
