import type { Kysely, Migration } from 'kysely'

/** The proxies between us and a phone that has registered (RFC 3327), as a JSON list. */
export const registeredPaths: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('sip_registrations')
      .addColumn('path', 'text', column => column.notNull().defaultTo('[]'))
      .execute()
  },
}
