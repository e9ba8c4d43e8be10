import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** A payment line that is rung for a flow brings its capture pause with it: JSON of `PaymentPause`, null for anybody else. */
export const paymentRings: Migration = {
  up: db => addColumns(db, 'rings', { payment: 'text?' }),
}
