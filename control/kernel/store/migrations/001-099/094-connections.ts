import type { Kysely, Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** State of a connection's far end, the node that maintains it, and how keys are sent. */
export const connections: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'connections', {
      dtmf_mode: { default: 'auto' },
      status: 'text?',
      sip_code: 'integer?',
      kept_by: 'text?',
      kept_until: 'text?',
    })
  },
}
