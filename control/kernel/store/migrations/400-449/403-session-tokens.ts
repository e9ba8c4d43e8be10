import type { Kysely, Migration } from 'kysely'

/** The ledger counts what a copilot's model was paid for: nothing read what was stored of it beside the session. */
export const sessionTokens: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const name of ['input_tokens', 'output_tokens']) {
      await db.schema.alterTable('copilot_sessions').dropColumn(name).execute()
    }
  },
}
