import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, sharedTable } from '../columns.ts'

/** Requests to the API. */
export const requestLogs: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createWith(sharedTable(db, 'request_logs'), {
      id: 'text key',
      organisation_id: 'text',
      livemode: 'integer',
      method: 'text',
      path: 'text',
      operation: 'text',
      status: 'integer',
      error_code: 'text?',
      api_key_id: 'text',
      api_version: 'text',
      duration_ms: 'integer',
      created: 'text',
    })
    const index = (name: string, columns: string[]): Promise<void> => addIndex(db, name, 'request_logs', columns)
    await index('request_logs_tenant', ['organisation_id', 'livemode', 'id'])
    await index('request_logs_created', ['created'])
  },
}
