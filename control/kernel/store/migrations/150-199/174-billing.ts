import type { Kysely, Migration } from 'kysely'

/** Billing follows from the role: the stored value was never read. */
export const billing: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('users').dropColumn('billing').execute()
  },
}
