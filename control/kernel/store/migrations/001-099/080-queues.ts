import type { Kysely, Migration } from 'kysely'
import { nodeOf } from '../../node.ts'
import { addColumns, addIndex, tenantTable } from '../columns.ts'

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
  await tenantTable(db, 'rings')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('call_id', 'text', column => column.notNull())
    .addColumn('open_call', 'text', column => column.unique())
    .addColumn('user_id', 'text')
    .addColumn('open_user', 'text', column => column.unique())
    .addColumn('queue_id', 'text')
    .addColumn('callback_id', 'text')
    .addColumn('purpose', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('started_at', 'text', column => column.notNull())
    .addColumn('deadline', 'text', column => column.notNull())
    .addColumn('leg_id', 'text')
    .addColumn('mode', 'text')
    .addColumn('node_id', 'text', column => column.notNull())
    .execute()
  await addIndex(db, 'rings_by_call', 'rings', ['call_id'])
  await addIndex(db, 'rings_by_state', 'rings', ['state', 'deadline'])
}
