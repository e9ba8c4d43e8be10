import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, tenantTable } from '../columns.ts'

/** Callback forms on websites, and the proofs of work that were taken by them. */
export const sites: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(tenantTable(db, 'sites'), {
      id: 'text key',
      name: 'text',
      active: 'integer',
      queue_id: 'text?',
      settings: 'text',
      created: 'text',
      updated: 'text',
    })
    await addIndex(db, 'sites_tenant', 'sites', ['organisation_id', 'livemode', 'id'])
    await addIndex(db, 'sites_by_queue', 'sites', ['queue_id'])
    await createWith(tenantTable(db, 'site_proofs'), {
      id: 'text key',
      expires_at: 'text',
    })
    await addIndex(db, 'site_proofs_by_end', 'site_proofs', ['expires_at'])
  },
}
