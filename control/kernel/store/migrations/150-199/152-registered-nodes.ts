import type { Kysely, Migration } from 'kysely'
import { nodeOf } from '../../node.ts'
import { addIndex, tenantTable } from '../columns.ts'

/** A phone is registered at a node, which alone can reach it through its NAT or over its connection. */
export const registeredNodes: Migration = {
  async up(db: Kysely<{ sip_registrations: Record<string, string | number> }>): Promise<void> {
    const rows = await db.selectFrom('sip_registrations').selectAll().execute()
    await db.schema.dropTable('sip_registrations').execute()
    await tenantTable(db, 'sip_registrations')
      .addColumn('user_id', 'text', column => column.notNull())
      .addColumn('contact', 'text', column => column.notNull())
      .addColumn('node', 'text', column => column.notNull())
      .addColumn('call_id', 'text', column => column.notNull())
      .addColumn('cseq', 'integer', column => column.notNull())
      .addColumn('transport', 'text', column => column.notNull())
      .addColumn('host', 'text', column => column.notNull())
      .addColumn('port', 'integer', column => column.notNull())
      .addColumn('registered_at', 'text', column => column.notNull())
      .addColumn('expires_at', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('sip_registrations_at_node', ['user_id', 'contact', 'node'])
      .execute()
    await addIndex(db, 'sip_registrations_by_user', 'sip_registrations', ['organisation_id', 'livemode', 'user_id'])
    const node = nodeOf(db)
    for (const row of rows)
      await db
        .insertInto('sip_registrations')
        .values({ ...row, node })
        .execute()
  },
}
