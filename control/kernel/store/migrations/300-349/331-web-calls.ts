import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, tenantTable } from '../columns.ts'

/** Which calls were made by browsers, and from which website. */
export const webCalls: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(tenantTable(db, 'web_calls'), {
      id: 'text key',
      assistant_id: 'text?',
      origin: 'text?',
      name: 'text',
      created: 'text',
    })
    await addIndex(db, 'web_calls_tenant', 'web_calls', ['organisation_id', 'livemode', 'id'])
  },
}
