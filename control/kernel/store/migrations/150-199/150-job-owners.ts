import type { Kysely, Migration } from 'kysely'

/** Whose a job is: organisations share the places where jobs run. Those of before belong to nobody, who is one more. */
export const jobOwners: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('jobs').addColumn('organisation_id', 'text').execute()
  },
}
