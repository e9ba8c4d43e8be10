import type { Kysely, Migration } from 'kysely'
import { addIndex, tenantTable } from '../columns.ts'

/** Callback forms on websites, and the proofs of work that were taken by them. */
export const sites: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'sites')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('active', 'integer', column => column.notNull())
      .addColumn('queue_id', 'text')
      .addColumn('settings', 'text', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .addColumn('updated', 'text', column => column.notNull())
      .execute()
    await addIndex(db, 'sites_tenant', 'sites', ['organisation_id', 'livemode', 'id'])
    await addIndex(db, 'sites_by_queue', 'sites', ['queue_id'])
    await tenantTable(db, 'site_proofs')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('expires_at', 'text', column => column.notNull())
      .execute()
    await addIndex(db, 'site_proofs_by_end', 'site_proofs', ['expires_at'])
  },
}
