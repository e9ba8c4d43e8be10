import type { Kysely, Migration } from 'kysely'

/** Why a leg ended, as whoever ended it said (Q.850, Reason): of the call, and of each who was rung for it. */
export const legCauses: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('calls').addColumn('cause', 'text').execute()
    await db.schema.alterTable('participants').addColumn('cause', 'text').execute()
  },
}
