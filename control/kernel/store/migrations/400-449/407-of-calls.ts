import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/**
 * What is asked about each call: by the call or leg, however many rows its organisation has. SQLite takes the index that more equal columns
 * begin with, so the tenant's columns come first.
 */
export const ofCalls: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const index = (table: string, ...columns: string[]) => addIndex(db, `${table}_of_${columns.at(-1)}`, table, columns)
    await index('callbacks', 'organisation_id', 'livemode', 'call_id')
    await index('media_streams', 'organisation_id', 'livemode', 'call_id')
    await index('rings', 'leg_id')
  },
}
