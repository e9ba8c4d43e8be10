import type { Kysely, Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Capture settings of whoever leads calls, and the decision for each call. */
export const captureSettings: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const table of ['calls', 'inbound_routes', 'flows', 'organisations']) {
      await addColumns(db, table, { capture: 'text?' })
    }
  },
}
