import type { Kysely, Migration } from 'kysely'

/** What an organisation does not want to keep of calls' words. */
export const redaction: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('organisations').addColumn('redaction', 'text').execute()
  },
}
