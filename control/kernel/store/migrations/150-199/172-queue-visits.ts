import type { Kysely, Migration } from 'kysely'
import { addIndex, tenantTable } from '../columns.ts'

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
    await addIndex(db, 'queue_visits_of_queue', 'queue_visits', [
      'organisation_id',
      'livemode',
      'queue_id',
      'left_at',
      'outcome',
      'wait_ms',
    ])
    await addIndex(db, 'queue_visits_of_call', 'queue_visits', ['call_id'])
  },
}
