import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

const steady = (table: string, what: 'joined' | 'started' | 'since'): Migration => ({
  up: db => addColumns(db, table, { [`${what}_ms`]: 'integer?', [`${what}_on`]: 'text?' }),
})

/** When something began by a clock that nobody sets, and of which node that clock is. */
export const steadyWaits = steady('queue_calls', 'joined')
export const steadySessions = steady('calls', 'started')
export const steadyCopilots = steady('copilot_sessions', 'started')
export const steadyAgents = steady('agent_statuses', 'since')
