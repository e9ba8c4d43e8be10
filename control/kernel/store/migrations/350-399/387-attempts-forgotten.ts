import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex } from '../columns.ts'

/** When the number of a deleted contact has counted for the caps long enough. */
export const attemptsForgotten: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'campaign_attempts', { forget_at: 'text?' })
    await addIndex(db, 'campaign_attempts_forget', 'campaign_attempts', ['forget_at'], { skipsNull: true })
  },
}
