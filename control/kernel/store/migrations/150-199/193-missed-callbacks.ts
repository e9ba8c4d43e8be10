import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex } from '../columns.ts'

/** When it was told that a callback had not been returned in time. */
export const missedCallbacks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'callbacks', { sla_missed_at: 'text?' })
    await addIndex(db, 'callbacks_sla', 'callbacks', ['status', 'sla_at'])
  },
}
