import type { Kysely, Migration } from 'kysely'
import { nodeOf } from '../../node.ts'

type Rows = {
  calls: { node_id: string }
  settings: { name: string }
  idempotency_keys: { status: number | null; lease: string; leased_until: string }
}

/** Several nodes on one database: whose a call is, how far each one's media events are committed, who attempts a request. */
export const nodes: Migration = {
  async up(db: Kysely<Rows>): Promise<void> {
    const node = nodeOf(db)
    await db.schema.alterTable('calls').addColumn('node_id', 'text').execute()
    await db.updateTable('calls').set({ node_id: node }).execute()
    await db
      .updateTable('settings')
      .set({ name: `media_position:${node}` })
      .where('name', '=', 'media_position')
      .execute()
    await db.schema.createIndex('calls_running').on('calls').columns(['node_id', 'ended_at']).execute()
    await db.schema.alterTable('idempotency_keys').addColumn('lease', 'text').execute()
    await db.schema.alterTable('idempotency_keys').addColumn('leased_until', 'text').execute()
    await db.schema.createIndex('idempotency_lease').on('idempotency_keys').columns(['lease', 'created']).execute()
    await db
      .updateTable('idempotency_keys')
      .set({ lease: node, leased_until: '' })
      .where('status', 'is', null)
      .execute()
  },
}
