import type { Kysely, Migration } from 'kysely'
import { addIndex, tenantTable } from '../columns.ts'

/** SIP messages of each leg, and headers of its RTP packets if requested. */
export const sipTraces: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'sip_traces')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('call_id', 'text', column => column.notNull())
      .addColumn('dropped', 'integer', column => column.notNull())
      .addColumn('content', 'text', column => column.notNull())
      .execute()
    await addIndex(db, 'sip_traces_call', 'sip_traces', ['call_id'])
  },
}
