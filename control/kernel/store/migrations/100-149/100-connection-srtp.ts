import type { Kysely, Migration } from 'kysely'

/** Whether a connection's audio is encrypted. */
export const connectionSrtp: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('connections')
      .addColumn('srtp', 'text', column => column.notNull().defaultTo('off'))
      .execute()
  },
}
