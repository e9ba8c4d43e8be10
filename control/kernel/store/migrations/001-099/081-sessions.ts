import type { Kysely, Migration } from 'kysely'
import { tenantTable } from '../columns.ts'

/** Fields of a conference session besides its call: the lock, and the notes. */
export const sessions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'session_states')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('locked', 'integer')
      .addColumn('notes', 'text')
      .execute()
  },
}
