import type { Kysely, Migration } from 'kysely'

/** What is kept of calls: as settings of who leads them, and as it was decided for each call. */
export const captureSettings: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const table of ['calls', 'inbound_routes', 'flows', 'organisations']) {
      await db.schema.alterTable(table).addColumn('capture', 'text').execute()
    }
  },
}
