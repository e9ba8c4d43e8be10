import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, sharedTable } from '../columns.ts'

/** How many requests the keys and organisations of a database have left, which several nodes serve. */
export const requestBudgets: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(sharedTable(db, 'request_budgets'), {
      subject: 'text key',
      full_us: 'integer',
      taken: 'integer',
    })
    await addIndex(db, 'request_budgets_full', 'request_budgets', ['full_us'])
  },
}
