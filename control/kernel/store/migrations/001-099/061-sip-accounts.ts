import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, tenantTable } from '../columns.ts'

/** The SIP accounts of members, and where they are registered. */
export const sipAccounts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(tenantTable(db, 'sip_credentials'), {
      id: 'text key',
      username: 'text unique',
      ha1_md5: 'text',
      ha1_sha256: 'text',
      created: 'text',
    })
    await tenantTable(db, 'sip_registrations')
      .addColumn('user_id', 'text', column => column.notNull())
      .addColumn('contact', 'text', column => column.notNull())
      .addColumn('call_id', 'text', column => column.notNull())
      .addColumn('cseq', 'integer', column => column.notNull())
      .addColumn('transport', 'text', column => column.notNull())
      .addColumn('host', 'text', column => column.notNull())
      .addColumn('port', 'integer', column => column.notNull())
      .addColumn('registered_at', 'text', column => column.notNull())
      .addColumn('expires_at', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('sip_registrations_key', ['user_id', 'contact'])
      .execute()
    await addIndex(db, 'sip_registrations_by_user', 'sip_registrations', ['organisation_id', 'livemode', 'user_id'])
  },
}
