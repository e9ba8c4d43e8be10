import type { Kysely, Migration } from 'kysely'

/** A payment line that is rung for a flow brings its capture pause with it: JSON of `PaymentPause`, null for anybody else. */
export const paymentRings: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('rings').addColumn('payment', 'text').execute()
  },
}
