import type { Kysely, Migration } from 'kysely'

/** Who has the bills follows from the role: nothing ever read what was stored of it. */
export const billing: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('users').dropColumn('billing').execute()
  },
}
