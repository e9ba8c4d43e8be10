import type { Kysely, Migration } from 'kysely'

/** Since when an agent has no device. */
export const devicelessAgents: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('agent_statuses').addColumn('deviceless_since', 'text').execute()
  },
}
