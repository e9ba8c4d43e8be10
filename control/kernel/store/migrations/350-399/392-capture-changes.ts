import type { Kysely, Migration } from 'kysely'
import { createWith, sharedTable } from '../columns.ts'

/** Running calls of which the other party has agreed to be recorded, or has taken that back, until media knows. */
export const captureChanges: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(sharedTable(db, 'capture_changes'), {
      call_id: 'text key',
      organisation_id: 'text',
      livemode: 'integer',
      node_id: 'text?',
      action: 'text',
    })
  },
}
