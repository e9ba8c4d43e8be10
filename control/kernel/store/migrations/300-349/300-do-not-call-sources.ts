import type { Kysely, Migration } from 'kysely'

/** The source of a do-not-call number, and its expiry. */
export const doNotCallSources: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const add = (name: string) => db.schema.alterTable('do_not_call').addColumn(name, 'text')
    await db.schema
      .alterTable('do_not_call')
      .addColumn('source', 'text', column => column.notNull().defaultTo('api'))
      .execute()
    await add('call_id').execute()
    await add('import_id').execute()
    await add('expires_at').execute()
    await db.schema
      .createIndex('do_not_call_expiring')
      .on('do_not_call')
      .column('expires_at')
      .where('expires_at' as never, 'is not', null)
      .execute()
  },
}
