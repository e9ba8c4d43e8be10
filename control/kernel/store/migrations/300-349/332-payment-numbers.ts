import type { Kysely, Migration } from 'kysely'

/** Organisations whose callers' keys reach payment numbers alone. */
export const paymentNumbers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('organisations')
      .addColumn('pci_numbers_only', 'integer', column => column.notNull().defaultTo(0))
      .execute()
  },
}
