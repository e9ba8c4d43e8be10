import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** When a member's softphone was last lost that may come back: who calls it in this moment waits for it. */
export const lostDevices: Migration = {
  up: db => addColumns(db, 'users', { device_lost_at: 'text?' }),
}
