import type { Kysely, Migration } from 'kysely'

/** Whether the phone of who talks on a call holds the other party. */
export const phonesHold: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const rings = db.schema.alterTable('rings')
    await rings.addColumn('holds', 'integer', column => column.notNull().defaultTo(0)).execute()
  },
}
