import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** The event streams that are open at all nodes: their limits are those of the key and the organisation, not of a node. */
export const openStreams: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('open_streams')
      .addColumn('id', 'text', column => column.notNull())
      .addColumn('subject', 'text', column => column.notNull())
      .addColumn('node_id', 'text', column => column.notNull())
      .addColumn('ends_at', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('open_streams_pk', ['subject', 'id'])
      .execute()
    await addIndex(db, 'open_streams_id', 'open_streams', ['id'])
    await addIndex(db, 'open_streams_ends_at', 'open_streams', ['ends_at'])
  },
}
