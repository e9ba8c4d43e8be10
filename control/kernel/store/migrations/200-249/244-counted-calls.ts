import type { Kysely, Migration } from 'kysely'

/** What insights count of a call, without what it is made from: of hundreds of thousands of calls little is read. */
export const countedCalls: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('call_summaries').addColumn('counted', 'text').execute()
  },
}
