import type { Kysely, Migration } from 'kysely'

/** Which node attempts a job: its next process need not wait until the lease of the one before has run out. */
export const jobNodes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('jobs').addColumn('node', 'text').execute()
  },
}
