import type { Kysely, Migration } from 'kysely'

/** Caller identity besides From: what connections trust and send, and what calls show. */
export const callerIdentity: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const flags = ['trust_identity', 'show_private_callers']
    for (const name of flags) {
      await db.schema
        .alterTable('connections')
        .addColumn(name, 'integer', column => column.notNull().defaultTo(0))
        .execute()
    }
    const choices = { identity: 'from', redirect_headers: 'diversion' }
    for (const [name, first] of Object.entries(choices)) {
      await db.schema
        .alterTable('connections')
        .addColumn(name, 'text', column => column.notNull().defaultTo(first))
        .execute()
    }
    await db.schema.alterTable('calls').addColumn('identity', 'text').execute()
    await db.schema
      .alterTable('calls')
      .addColumn('redirected_from', 'text', column => column.notNull().defaultTo('[]'))
      .execute()
  },
}
