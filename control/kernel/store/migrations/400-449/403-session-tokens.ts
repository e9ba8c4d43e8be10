import type { Kysely, Migration } from 'kysely'

/** The ledger counts the paid usage of a copilot's model: the copy in the session was never read. */
export const sessionTokens: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const name of ['input_tokens', 'output_tokens']) {
      await db.schema.alterTable('copilot_sessions').dropColumn(name).execute()
    }
  },
}
