import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** How many requests the keys and organisations of a database have left, which several nodes serve. */
export const requestBudgets: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('request_budgets')
      .addColumn('subject', 'text', column => column.primaryKey())
      .addColumn('full_us', 'integer', column => column.notNull())
      .addColumn('taken', 'integer', column => column.notNull())
      .execute()
    await addIndex(db, 'request_budgets_full', 'request_budgets', ['full_us'])
  },
}
