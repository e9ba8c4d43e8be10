import type { Kysely, Migration } from 'kysely'

/** A possible beginning of a number that is not kept: sealed until it is known. */
export const heldNumbers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('copilot_sessions').addColumn('held', 'text').execute()
    await db.schema.alterTable('transcript_segments').addColumn('held', 'text').execute()
  },
}
