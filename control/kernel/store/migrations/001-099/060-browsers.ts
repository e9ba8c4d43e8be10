import type { Kysely, Migration } from 'kysely'
import { addColumns, addIndex, createWith, tenantTable } from '../columns.ts'

/** Softphones that are connected, and guests of conference rooms that have come by a link. */
export const browsers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(tenantTable(db, 'browser_sessions'), {
      id: 'text key',
      user_id: 'text',
      node: 'text',
      connected_at: 'text',
    })
    await addIndex(db, 'browser_sessions_by_user', 'browser_sessions', ['organisation_id', 'livemode', 'user_id'])
    await createWith(tenantTable(db, 'browser_guests'), {
      id: 'text key',
      room_id: 'text',
      name: 'text',
      role: 'text',
      created: 'text',
    })
    await addIndex(db, 'browser_guests_by_created', 'browser_guests', ['organisation_id', 'livemode', 'created'])
    await addColumns(db, 'participants', { admitted: { default: 0 } })
  },
}
