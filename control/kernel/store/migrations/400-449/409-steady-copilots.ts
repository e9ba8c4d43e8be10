import type { Kysely, Migration } from 'kysely'

/** When a copilot's session began by a clock that nobody sets, and of which node that clock is. */
export const steadyCopilots: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('copilot_sessions').addColumn('started_ms', 'integer').execute()
    await db.schema.alterTable('copilot_sessions').addColumn('started_on', 'text').execute()
  },
}
