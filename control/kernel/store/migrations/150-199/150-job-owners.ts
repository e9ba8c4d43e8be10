import type { Kysely, Migration } from 'kysely'

/**
 * The owner of a job: organisations share the places for running jobs. Older jobs belong to nobody, which counts as one
 * more owner.
 */
export const jobOwners: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('jobs').addColumn('organisation_id', 'text').execute()
  },
}
