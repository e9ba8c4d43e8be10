import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** Usage is counted by when things began. */
export const usage: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const table of ['calls', 'media_streams', 'recordings', 'callbacks']) {
      await addIndex(db, `${table}_created`, table, ['organisation_id', 'livemode', 'created'])
    }
  },
}
