import type { Kysely, Migration } from 'kysely'

/** Handling of a far end's REFER, of ours, and the caller that transfers show; running transfers by SIP. */
export const transfers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const [name, usual] of [
      ['transfers', 'refuse'],
      ['transfer_caller', 'original'],
    ] as const) {
      await db.schema
        .alterTable('connections')
        .addColumn(name, 'text', column => column.notNull().defaultTo(usual))
        .execute()
    }
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
    await db.schema.createIndex('call_transfers_by_ring').on('call_transfers').column('ring_id').execute()
    await db.schema.createIndex('call_transfers_by_node').on('call_transfers').column('node_id').execute()
  },
}
