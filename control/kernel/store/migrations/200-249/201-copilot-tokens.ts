import type { Kysely, Migration } from 'kysely'

/** Paid usage of a copilot's model. */
export const copilotTokens: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const name of ['input_tokens', 'output_tokens']) {
      await db.schema
        .alterTable('copilot_sessions')
        .addColumn(name, 'integer', column => column.notNull().defaultTo(0))
        .execute()
    }
  },
}
