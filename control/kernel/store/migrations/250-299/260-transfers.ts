import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex } from '../columns.ts'

/** Handling of a far end's REFER, of ours, and the caller that transfers show; running transfers by SIP. */
export const transfers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'connections', { transfers: { default: 'refuse' }, transfer_caller: { default: 'original' } })
    await db.schema
      .createTable('call_transfers')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('organisation_id', 'text', column => column.notNull())
      .addColumn('livemode', 'integer', column => column.notNull())
      .addColumn('call_id', 'text', column => column.notNull().unique())
      .addColumn('leg_id', 'text', column => column.notNull())
      .addColumn('direction', 'text', column => column.notNull())
      .addColumn('to_address', 'text', column => column.notNull())
      .addColumn('plan', 'text', column => column.notNull())
      .addColumn('status', 'text', column => column.notNull())
      .addColumn('ring_id', 'text')
      .addColumn('node_id', 'text')
      .addColumn('created', 'text', column => column.notNull())
      .execute()
    await addIndex(db, 'call_transfers_by_ring', 'call_transfers', ['ring_id'])
    await addIndex(db, 'call_transfers_by_node', 'call_transfers', ['node_id'])
  },
}
