import type { Kysely, Migration } from 'kysely'
import { nodeOf } from '../../node.ts'
import { addColumns, addIndex, createWith, tenantTable } from '../columns.ts'

/** Ringing and talking: who rings for which call, how long a call waits, and what an agent does. */
export const queues: Migration = {
  async up(db: Kysely<{ participants: { node_id: string } }>): Promise<void> {
    await rings(db)
    const node = nodeOf(db)
    const added = {
      participants: ['ring_id', 'address', 'dial', 'node_id'],
      calls: ['queue_id', 'user_id'],
      callbacks: ['tried', 'offered_to'],
      queue_calls: ['leg_id', 'tried', 'overflow_at', 'announce_at'],
      agent_statuses: ['wanted', 'idle_since', 'wrap_up_until', 'rest_until', 'last_offered_at'],
    }
    for (const [table, columns] of Object.entries(added)) {
      for (const column of columns) await addColumns(db, table, { [column]: 'text?' })
    }
    await addColumns(db, 'participants', { on_hold: 'integer?' })
    await db.updateTable('participants').set({ node_id: node }).execute()
    await addIndex(db, 'participants_by_step', 'participants', ['step'])
    await addIndex(db, 'participants_by_ring', 'participants', ['ring_id'])
    await addIndex(db, 'agents_in_wrap_up', 'agent_statuses', ['wrap_up_until'])
  },
}

async function rings<DB>(db: Kysely<DB>): Promise<void> {
  await createWith(tenantTable(db, 'rings'), {
    id: 'text key',
    call_id: 'text',
    open_call: 'text? unique',
    user_id: 'text?',
    open_user: 'text? unique',
    queue_id: 'text?',
    callback_id: 'text?',
    purpose: 'text',
    state: 'text',
    started_at: 'text',
    deadline: 'text',
    leg_id: 'text?',
    mode: 'text?',
    node_id: 'text',
  })
  await addIndex(db, 'rings_by_call', 'rings', ['call_id'])
  await addIndex(db, 'rings_by_state', 'rings', ['state', 'deadline'])
}
