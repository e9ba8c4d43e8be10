import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/** Requests to the API. */
export const requestLogs: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('request_logs')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('organisation_id', 'text', column => column.notNull())
      .addColumn('livemode', 'integer', column => column.notNull())
      .addColumn('method', 'text', column => column.notNull())
      .addColumn('path', 'text', column => column.notNull())
      .addColumn('operation', 'text', column => column.notNull())
      .addColumn('status', 'integer', column => column.notNull())
      .addColumn('error_code', 'text')
      .addColumn('api_key_id', 'text', column => column.notNull())
      .addColumn('api_version', 'text', column => column.notNull())
      .addColumn('duration_ms', 'integer', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .execute()
    const index = (name: string, columns: string[]): Promise<void> => addIndex(db, name, 'request_logs', columns)
    await index('request_logs_tenant', ['organisation_id', 'livemode', 'id'])
    await index('request_logs_created', ['created'])
  },
}
