import type { Kysely, Migration } from 'kysely'
import { addIndex, type Columns, createWith, objectTable } from '../columns.ts'
import { createSearchTable } from './kb-search-table.ts'

async function createTable(db: Kysely<unknown>, name: string, columns: Columns): Promise<void> {
  await createWith(objectTable(db, name), columns)
  await index(db, name, ['id'])
}

const index = (db: Kysely<unknown>, table: string, columns: string[]): Promise<void> =>
  addIndex(db, `${table}_by_${columns.join('_')}`, table, ['organisation_id', 'livemode', ...columns])

async function knowledgeBase(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'kb_documents', {
    name: 'text',
    status: 'text',
    error: 'text?',
    size_bytes: 'integer',
    passage_count: 'integer',
    metadata: 'text',
    created: 'text',
  })
  await createTable(db, 'kb_originals', { content: 'text' })
  await createTable(db, 'kb_passages', { document_id: 'text', position: 'integer', text: 'text' })
  await index(db, 'kb_passages', ['document_id'])
  await createSearchTable(db)
}

async function reports(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'reports', {
    name: 'text',
    kind: 'text',
    period: 'text',
    csv: 'integer',
    pdf: 'integer',
    recipients: 'text',
    created: 'text',
  })
  await createTable(db, 'report_runs', {
    report_id: 'text',
    status: 'text',
    trigger: 'text',
    period_from: 'text',
    period_to: 'text',
    started_at: 'text',
    finished_at: 'text',
    error: 'text?',
    csv: 'integer',
    pdf: 'integer',
    recipients: 'text',
    deliveries: 'text',
  })
  await index(db, 'report_runs', ['report_id', 'id'])
}

/** Audio assets, the knowledge base, reports and their runs. */
export const content: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createTable(db, 'audio_assets', {
      name: 'text',
      kind: 'text',
      sample_rate: 'integer',
      duration_ms: 'integer',
      text: 'text',
      created: 'text',
    })
    // For the history of a conference room.
    await index(db, 'calls', ['room_id', 'id'])
    await knowledgeBase(db)
    await reports(db)
  },
}
