import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, sharedTable } from '../columns.ts'

/** Work for later, taken by leases. */
export const jobs: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(sharedTable(db, 'jobs'), {
      id: 'text key',
      kind: 'text',
      key: 'text?',
      payload: 'text',
      due_at: 'text?',
      attempts: 'integer',
      version: 'integer',
      lease: 'text?',
      leased_until: 'text?',
      last_error: 'text?',
      created: 'text',
    })
    await addIndex(db, 'jobs_key', 'jobs', ['kind', 'key'], { isUnique: true })
    await addIndex(db, 'jobs_due', 'jobs', ['due_at'])
  },
}
