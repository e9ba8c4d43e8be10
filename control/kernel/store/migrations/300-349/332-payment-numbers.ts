import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Organisations whose callers' keys reach payment numbers alone. */
export const paymentNumbers: Migration = {
  up: db => addColumns(db, 'organisations', { pci_numbers_only: { default: 0 } }),
}
