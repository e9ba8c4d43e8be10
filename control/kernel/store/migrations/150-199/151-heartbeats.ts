import type { Kysely, Migration } from 'kysely'
import { createWith, sharedTable } from '../columns.ts'

/** Which nodes are alive. */
export const heartbeats: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(sharedTable(db, 'nodes'), {
      id: 'text key',
      seen_at: 'text',
      lost_at: 'text?',
    })
  },
}
