import type { Kysely, Migration } from 'kysely'

/** The way that a registrar wants calls to take (RFC 3608), for every node that places them. */
export const serviceRoutes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('connections')
      .addColumn('service_route', 'text', column => column.notNull().defaultTo('[]'))
      .execute()
  },
}
