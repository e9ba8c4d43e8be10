import type { Kysely, Migration } from 'kysely'

/** Figures of a call for insights, without their source, so that little is read for hundreds of thousands of calls. */
export const countedCalls: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('call_summaries').addColumn('counted', 'text').execute()
  },
}
