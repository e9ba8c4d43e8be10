import type { Kysely, Migration } from 'kysely'
import type { TenantColumns } from '../../../control/kernel/store/tenant-columns.ts'

export interface ReminderRow extends TenantColumns {
  id: string
  text: string
  created: string
  updated: string
}

declare module '../../../control/kernel/store/tables.ts' {
  interface Database {
    reminders: ReminderRow
  }
}

/** Never changed once it was released. */
export const reminders: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    let table = db.schema.createTable('reminders').addColumn('id', 'text', column => column.primaryKey())
    for (const name of ['organisation_id', 'text', 'created', 'updated'] as const) {
      table = table.addColumn(name, 'text', column => column.notNull())
    }
    await table.addColumn('livemode', 'integer', column => column.notNull()).execute()
    const columns = ['organisation_id', 'livemode', 'id']
    await db.schema.createIndex('reminders_of_organisation').on('reminders').columns(columns).execute()
  },
}
