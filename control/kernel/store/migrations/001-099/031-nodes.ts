import type { Kysely, Migration } from 'kysely'
import { nodeOf } from '../../node.ts'
import { addColumns, addIndex } from '../columns.ts'

type Rows = {
  calls: { node_id: string }
  settings: { name: string }
  idempotency_keys: { status: number | null; lease: string; leased_until: string }
}

/** Several nodes on one database: whose a call is, how far each one's media events are committed, who attempts a request. */
export const nodes: Migration = {
  async up(db: Kysely<Rows>): Promise<void> {
    const node = nodeOf(db)
    await addColumns(db, 'calls', { node_id: 'text?' })
    await db.updateTable('calls').set({ node_id: node }).execute()
    await db
      .updateTable('settings')
      .set({ name: `media_position:${node}` })
      .where('name', '=', 'media_position')
      .execute()
    await addIndex(db, 'calls_running', 'calls', ['node_id', 'ended_at'])
    await addColumns(db, 'idempotency_keys', { lease: 'text?', leased_until: 'text?' })
    await addIndex(db, 'idempotency_lease', 'idempotency_keys', ['lease', 'created'])
    await db
      .updateTable('idempotency_keys')
      .set({ lease: node, leased_until: '' })
      .where('status', 'is', null)
      .execute()
  },
}
