import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Paid usage of a copilot's model. */
export const copilotTokens: Migration = {
  up: db => addColumns(db, 'copilot_sessions', { input_tokens: { default: 0 }, output_tokens: { default: 0 } }),
}
