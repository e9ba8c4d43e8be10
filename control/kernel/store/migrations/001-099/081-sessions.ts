import type { Kysely, Migration } from 'kysely'
import { createWith, tenantTable } from '../columns.ts'

/** Fields of a conference session besides its call: the lock, and the notes. */
export const sessions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(tenantTable(db, 'session_states'), {
      id: 'text key',
      locked: 'integer?',
      notes: 'text?',
    })
  },
}
