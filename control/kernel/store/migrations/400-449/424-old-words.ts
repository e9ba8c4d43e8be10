import { type Kysely, type Migration, sql } from 'kysely'
import { addColumns } from '../columns.ts'

/** Finds the oldest words that are still there, among years of rows that have none. */
export const oldWords: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'copilot_sessions', { forgotten: { default: 0 } })
    for (const index of [
      'copilot_sessions_with_words on copilot_sessions (organisation_id, livemode, created) where forgotten = 0',
      "call_steps_with_words on call_steps (organisation_id, livemode, at) where kind = 'turn'",
    ])
      await sql.raw(`create index ${index}`).execute(db)
  },
}
