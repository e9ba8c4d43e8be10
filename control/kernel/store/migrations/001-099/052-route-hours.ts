import type { Kysely, Migration } from 'kysely'

/** When an inbound route leads calls. */
export const routeHours: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('inbound_routes').addColumn('hours', 'text').execute()
  },
}
