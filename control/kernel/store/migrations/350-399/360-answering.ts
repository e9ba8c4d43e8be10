import type { Kysely, Migration } from 'kysely'

/** How it is found out who has answered a call that goes out, and who it was. */
export const answering: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('calls').addColumn('answering', 'text').execute()
    await db.schema.alterTable('calls').addColumn('answered_by', 'text').execute()
  },
}
