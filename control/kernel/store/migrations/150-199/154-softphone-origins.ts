import type { Kysely, Migration } from 'kysely'

/** The website that a softphone was opened from is where its next token works. */
export const softphoneOrigins: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('browser_sessions').addColumn('origin', 'text').execute()
  },
}
