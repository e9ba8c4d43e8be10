import type { Kysely, Migration } from 'kysely'

/**
 * What a token says of its softphone: which one it goes on with, apart from the customer's metadata, and that metadata, for the calls that
 * the softphone places.
 */
export const softphoneMetadata: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('client_tokens').addColumn('device', 'text').execute()
    await db.schema
      .alterTable('browser_sessions')
      .addColumn('metadata', 'text', column => column.notNull().defaultTo('{}'))
      .execute()
  },
}
