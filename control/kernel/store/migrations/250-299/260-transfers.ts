import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex, createWith, sharedTable } from '../columns.ts'

/** Handling of a far end's REFER, of ours, and the caller that transfers show; running transfers by SIP. */
export const transfers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'connections', { transfers: { default: 'refuse' }, transfer_caller: { default: 'original' } })
    await createWith(sharedTable(db, 'call_transfers'), {
      id: 'text key',
      organisation_id: 'text',
      livemode: 'integer',
      call_id: 'text unique',
      leg_id: 'text',
      direction: 'text',
      to_address: 'text',
      plan: 'text',
      status: 'text',
      ring_id: 'text?',
      node_id: 'text?',
      created: 'text',
    })
    await addIndex(db, 'call_transfers_by_ring', 'call_transfers', ['ring_id'])
    await addIndex(db, 'call_transfers_by_node', 'call_transfers', ['node_id'])
  },
}
