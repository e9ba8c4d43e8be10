import type { Kysely, Migration } from 'kysely'

/** Streams whose receiver is heard in the call: which they are, and what came of them. */
export const bidirectionalStreams: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const streams = () => db.schema.alterTable('media_streams')
    await streams()
      .addColumn('mode', 'text', column => column.notNull().defaultTo('fork'))
      .execute()
    for (const name of ['frames_received', 'frames_refused']) {
      await streams()
        .addColumn(name, 'integer', column => column.notNull().defaultTo(0))
        .execute()
    }
  },
}
