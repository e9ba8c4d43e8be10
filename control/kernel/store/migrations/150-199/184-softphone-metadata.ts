import type { Kysely, Migration } from 'kysely'

/** Fields of a token's softphone: which one it resumes, and the customer's metadata for the calls that it places. */
export const softphoneMetadata: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('client_tokens').addColumn('device', 'text').execute()
    await db.schema
      .alterTable('browser_sessions')
      .addColumn('metadata', 'text', column => column.notNull().defaultTo('{}'))
      .execute()
  },
}
