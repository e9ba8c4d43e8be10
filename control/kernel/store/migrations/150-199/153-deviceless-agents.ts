import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Since when an agent has no device. */
export const devicelessAgents: Migration = {
  up: db => addColumns(db, 'agent_statuses', { deviceless_since: 'text?' }),
}
