import type { Kysely, Migration } from 'kysely'

/** State of a connection's far end, the node that maintains it, and how keys are sent. */
export const connections: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const add = (name: string, type: 'text' | 'integer') =>
      db.schema.alterTable('connections').addColumn(name, type).execute()
    await db.schema
      .alterTable('connections')
      .addColumn('dtmf_mode', 'text', column => column.notNull().defaultTo('auto'))
      .execute()
    await add('status', 'text')
    await add('sip_code', 'integer')
    await add('kept_by', 'text')
    await add('kept_until', 'text')
  },
}
