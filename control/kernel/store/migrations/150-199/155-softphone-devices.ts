import type { Kysely, Migration } from 'kysely'

/** The identity of a softphone across reconnects: its running call continues with its next connection. */
export const softphoneDevices: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('browser_sessions').addColumn('device', 'text').execute()
  },
}
