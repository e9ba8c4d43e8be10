import type { Kysely, Migration } from 'kysely'

/** Which connections sign calls, and which judge the signatures of others (STIR/SHAKEN). */
export const signedCalls: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('connections')
      .addColumn('sign_calls', 'integer', column => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .alterTable('connections')
      .addColumn('verify_calls', 'text', column => column.notNull().defaultTo('off'))
      .execute()
  },
}
