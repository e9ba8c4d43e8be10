import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex } from '../columns.ts'

/** The dialler asks four times a second: the calls that a campaign has begun are not counted each time, and a day's results come from an index. */
export const dialling: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'campaigns', { calls_begun: { default: 0 } })
    await db.schema.dropIndex('campaign_attempts_time').execute()
    await addIndex(db, 'campaign_attempts_day', 'campaign_attempts', [
      'campaign_id',
      'started_at',
      'result',
      'answered_at',
    ])
  },
}
