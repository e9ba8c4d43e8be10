import type { Kysely, Migration } from 'kysely'
import { tenantTable } from '../columns.ts'

/** How each call left its queue: what service is measured by. */
export const queueVisits: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await tenantTable(db, 'queue_visits')
      .addColumn('queue_id', 'text', column => column.notNull())
      .addColumn('call_id', 'text', column => column.notNull().references('calls.id').onDelete('cascade'))
      .addColumn('outcome', 'text', column => column.notNull())
      .addColumn('wait_ms', 'integer', column => column.notNull())
      .addColumn('left_at', 'text', column => column.notNull())
      .execute()
    await db.schema
      .createIndex('queue_visits_of_queue')
      .on('queue_visits')
      .columns(['organisation_id', 'livemode', 'queue_id', 'left_at', 'outcome', 'wait_ms'])
      .execute()
    await db.schema.createIndex('queue_visits_of_call').on('queue_visits').columns(['call_id']).execute()
  },
}
