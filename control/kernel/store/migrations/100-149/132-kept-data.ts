import type { Kysely, Migration } from 'kysely'

/** Recordings can be paused and encrypted, and what is kept of calls ends with its time. */
export const keptData: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const flag = (table: string, name: string): Promise<void> =>
      db.schema
        .alterTable(table)
        .addColumn(name, 'integer', column => column.notNull().defaultTo(0))
        .execute()
    await flag('recordings', 'paused')
    await flag('recordings', 'encrypted')
    await flag('voicemails', 'encrypted')
    await flag('organisations', 'encrypt_recordings')
    await db.schema.alterTable('organisations').addColumn('retention', 'text').execute()
    const due = (table: string, column: string): Promise<void> =>
      db.schema.createIndex(`${table}_kept`).on(table).columns(['organisation_id', column]).execute()
    await due('recordings', 'created')
    await due('transcripts', 'created')
    await due('voicemails', 'created')
    await due('calls', 'ended_at')
  },
}
