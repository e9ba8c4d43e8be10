import type { Kysely, Migration } from 'kysely'

/** When a call joined its queue by a clock that nobody sets, and of which node that clock is. */
export const steadyWaits: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('queue_calls').addColumn('joined_ms', 'integer').execute()
    await db.schema.alterTable('queue_calls').addColumn('joined_on', 'text').execute()
  },
}
