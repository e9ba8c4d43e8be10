import type { Kysely, Migration } from 'kysely'

/** Since when an agent has its status by a clock that nobody sets, and of which node that clock is. */
export const steadyAgents: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('agent_statuses').addColumn('since_ms', 'integer').execute()
    await db.schema.alterTable('agent_statuses').addColumn('since_on', 'text').execute()
  },
}
