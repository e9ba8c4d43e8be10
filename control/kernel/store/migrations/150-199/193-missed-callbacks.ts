import type { Kysely, Migration } from 'kysely'

/** When it was told that a callback had not been returned in time. */
export const missedCallbacks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('callbacks').addColumn('sla_missed_at', 'text').execute()
    await db.schema.createIndex('callbacks_sla').on('callbacks').columns(['status', 'sla_at']).execute()
  },
}
