import type { Kysely, Migration } from 'kysely'

/** What a softphone is for as long as it comes back: its running call goes on with its next connection. */
export const softphoneDevices: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('browser_sessions').addColumn('device', 'text').execute()
  },
}
