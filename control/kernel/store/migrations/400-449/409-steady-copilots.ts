import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** When a copilot's session began by a clock that nobody sets, and of which node that clock is. */
export const steadyCopilots: Migration = {
  up: db => addColumns(db, 'copilot_sessions', { started_ms: 'integer?', started_on: 'text?' }),
}
