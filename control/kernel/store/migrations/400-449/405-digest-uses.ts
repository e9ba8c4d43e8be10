import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** Which uses of nonces of digest challenges there were at any node: an answer that was given to one is no answer to another. */
export const digestUses: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('digest_uses')
      .addColumn('nonce', 'text', column => column.notNull())
      .addColumn('count', 'integer', column => column.notNull())
      .addColumn('until', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('digest_uses_once', ['nonce', 'count'])
      .execute()
    await addIndex(db, 'digest_uses_until', 'digest_uses', ['until'])
  },
}
