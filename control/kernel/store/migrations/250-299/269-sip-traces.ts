import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, tenantTable } from '../columns.ts'

/** SIP messages of each leg, and headers of its RTP packets if requested. */
export const sipTraces: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(tenantTable(db, 'sip_traces'), {
      id: 'text key',
      call_id: 'text',
      dropped: 'integer',
      content: 'text',
    })
    await addIndex(db, 'sip_traces_call', 'sip_traces', ['call_id'])
  },
}
