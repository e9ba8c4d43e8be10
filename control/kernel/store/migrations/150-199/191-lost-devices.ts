import type { Kysely, Migration } from 'kysely'

/** When a member's softphone was last lost that may come back: who calls it in this moment waits for it. */
export const lostDevices: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('users').addColumn('device_lost_at', 'text').execute()
  },
}
