import type { Kysely, Migration } from 'kysely'

/** Several hosts of a connection, when the next one is tried, and which numbers go out over which connection in which form. */
export const outboundRouting: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const lists = { hosts: '[]', failover_on: '[503]', rates: '[]' }
    for (const [name, empty] of Object.entries(lists)) {
      await db.schema
        .alterTable('connections')
        .addColumn(name, 'text', column => column.notNull().defaultTo(empty))
        .execute()
    }
    await db.schema
      .alterTable('connections')
      .addColumn('follow_redirects', 'integer', column => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .alterTable('connections')
      .addColumn('number_format', 'text', column => column.notNull().defaultTo('e164'))
      .execute()
    await db.schema.alterTable('connections').addColumn('number_country', 'text').execute()
    await db.schema
      .alterTable('connections')
      .addColumn('dial_prefix', 'text', column => column.notNull().defaultTo(''))
      .execute()
    await db.schema.alterTable('connections').addColumn('caller_number', 'text').execute()
  },
}
