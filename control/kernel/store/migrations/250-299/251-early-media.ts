import type { Kysely, Migration } from 'kysely'

/** Calls that ring before they are answered: as a route says it, and what is known of each leg until then. */
export const earlyMedia: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('inbound_routes').addColumn('answer', 'text').execute()
    await db.schema.alterTable('participants').addColumn('unanswered', 'text').execute()
    await db.schema.alterTable('participants').addColumn('answered_then', 'text').execute()
    await db.schema
      .alterTable('participants')
      .addColumn('early', 'integer', column => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .alterTable('connections')
      .addColumn('reliable_provisional', 'text', column => column.notNull().defaultTo('when_required'))
      .execute()
  },
}
