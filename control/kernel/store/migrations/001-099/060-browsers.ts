import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex, tenantTable } from '../columns.ts'

/** Softphones that are connected, and guests of conference rooms that have come by a link. */
export const browsers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'browser_sessions')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('user_id', 'text', column => column.notNull())
      .addColumn('node', 'text', column => column.notNull())
      .addColumn('connected_at', 'text', column => column.notNull())
      .execute()
    await addIndex(db, 'browser_sessions_by_user', 'browser_sessions', ['organisation_id', 'livemode', 'user_id'])
    await tenantTable(db, 'browser_guests')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('room_id', 'text', column => column.notNull())
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('role', 'text', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .execute()
    await addIndex(db, 'browser_guests_by_created', 'browser_guests', ['organisation_id', 'livemode', 'created'])
    await addColumns(db, 'participants', { admitted: { default: 0 } })
  },
}
