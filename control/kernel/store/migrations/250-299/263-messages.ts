import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, tenantTable } from '../columns.ts'

/** Texts from members' phones and to them. */
export const messages: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(tenantTable(db, 'messages'), {
      id: 'text key',
      from_user_id: 'text?',
      to_user_id: 'text?',
      to_address: 'text?',
      text: 'text',
      status: 'text',
      sip_code: 'integer?',
      pending: 'integer',
      created: 'text',
    })
    await addIndex(db, 'messages_tenant', 'messages', ['organisation_id', 'livemode', 'id'])
    await addIndex(db, 'messages_due', 'messages', ['organisation_id', 'created'])
    await addIndex(db, 'messages_status', 'messages', ['status', 'created'])
  },
}
