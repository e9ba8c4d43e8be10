import type { Kysely, Migration } from 'kysely'
import { addIndex, tenantTable } from '../columns.ts'

/** Texts from members' phones and to them. */
export const messages: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'messages')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('from_user_id', 'text')
      .addColumn('to_user_id', 'text')
      .addColumn('to_address', 'text')
      .addColumn('text', 'text', column => column.notNull())
      .addColumn('status', 'text', column => column.notNull())
      .addColumn('sip_code', 'integer')
      .addColumn('pending', 'integer', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .execute()
    await addIndex(db, 'messages_tenant', 'messages', ['organisation_id', 'livemode', 'id'])
    await addIndex(db, 'messages_due', 'messages', ['organisation_id', 'created'])
    await addIndex(db, 'messages_status', 'messages', ['status', 'created'])
  },
}
