import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** Work for later, taken by leases. */
export const jobs: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('jobs')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('key', 'text')
      .addColumn('payload', 'text', column => column.notNull())
      .addColumn('due_at', 'text')
      .addColumn('attempts', 'integer', column => column.notNull())
      .addColumn('version', 'integer', column => column.notNull())
      .addColumn('lease', 'text')
      .addColumn('leased_until', 'text')
      .addColumn('last_error', 'text')
      .addColumn('created', 'text', column => column.notNull())
      .execute()
    await addIndex(db, 'jobs_key', 'jobs', ['kind', 'key'], { isUnique: true })
    await addIndex(db, 'jobs_due', 'jobs', ['due_at'])
  },
}
