import type { Kysely, Migration } from 'kysely'
import { addIndex } from '../columns.ts'

/**
 * Lists that read the rows of all organisations. What is asked by call has an index that begins with the tenant, too, since SQLite takes the one
 * that more equal columns begin with.
 */
export const ownRows: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const index = (table: string, by: string, ...more: string[]) =>
      addIndex(db, `${table}_own_${by}`, table, ['organisation_id', 'livemode', by, ...more])
    for (const table of ['api_keys', 'copilot_sessions', 'transcript_segments']) await index(table, 'id')
    await index('copilot_sessions', 'call_id')
    await index('transcript_segments', 'call_id', 'start_ms')
  },
}
