import type { Kysely, Migration } from 'kysely'
import { tenantTable } from '../columns.ts'

/** Softphones that are connected, and guests of conference rooms that have come by a link. */
export const browsers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'browser_sessions')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('user_id', 'text', column => column.notNull())
      .addColumn('node', 'text', column => column.notNull())
      .addColumn('connected_at', 'text', column => column.notNull())
      .execute()
    await db.schema
      .createIndex('browser_sessions_by_user')
      .on('browser_sessions')
      .columns(['organisation_id', 'livemode', 'user_id'])
      .execute()
    await tenantTable(db, 'browser_guests')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('room_id', 'text', column => column.notNull())
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('role', 'text', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .execute()
    await db.schema
      .createIndex('browser_guests_by_created')
      .on('browser_guests')
      .columns(['organisation_id', 'livemode', 'created'])
      .execute()
    await db.schema
      .alterTable('participants')
      .addColumn('admitted', 'integer', column => column.notNull().defaultTo(0))
      .execute()
  },
}
