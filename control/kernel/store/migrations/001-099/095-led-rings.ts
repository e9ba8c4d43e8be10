import type { Kysely, Migration } from 'kysely'

/** Programs ring people as queues do: their rings are in `rings`. */
export const ledRings: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.dropIndex('call_programs_child').execute()
    await db.schema.alterTable('call_programs').dropColumn('child_leg').execute()
  },
}
