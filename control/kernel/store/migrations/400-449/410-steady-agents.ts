import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Since when an agent has its status by a clock that nobody sets, and of which node that clock is. */
export const steadyAgents: Migration = {
  up: db => addColumns(db, 'agent_statuses', { since_ms: 'integer?', since_on: 'text?' }),
}
