import type { Kysely, Migration } from 'kysely'
import { createSearchTable } from './kb-search-table.ts'

type Column = 'text' | 'integer' | 'text?'

/** A table whose rows belong to an organisation and a mode; `?` marks a column that may be null. */
async function tenantTable(db: Kysely<unknown>, name: string, columns: Record<string, Column>): Promise<void> {
  let table = db.schema
    .createTable(name)
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
    .addColumn('livemode', 'integer', column => column.notNull())
  for (const [column, type] of Object.entries(columns)) {
    table = table.addColumn(column, type.replace('?', '') as 'text', built =>
      type.endsWith('?') ? built : built.notNull(),
    )
  }
  await table.execute()
  await index(db, name, ['id'])
}

const index = (db: Kysely<unknown>, table: string, columns: string[]): Promise<void> =>
  db.schema
    .createIndex(`${table}_by_${columns.join('_')}`)
    .on(table)
    .columns(['organisation_id', 'livemode', ...columns])
    .execute()

async function knowledgeBase(db: Kysely<unknown>): Promise<void> {
  await tenantTable(db, 'kb_documents', {
    name: 'text',
    status: 'text',
    error: 'text?',
    size_bytes: 'integer',
    passage_count: 'integer',
    metadata: 'text',
    created: 'text',
  })
  await tenantTable(db, 'kb_originals', { content: 'text' })
  await tenantTable(db, 'kb_passages', { document_id: 'text', position: 'integer', text: 'text' })
  await index(db, 'kb_passages', ['document_id'])
  await createSearchTable(db)
}

async function reports(db: Kysely<unknown>): Promise<void> {
  await tenantTable(db, 'reports', {
    name: 'text',
    kind: 'text',
    period: 'text',
    csv: 'integer',
    pdf: 'integer',
    recipients: 'text',
    created: 'text',
  })
  await tenantTable(db, 'report_runs', {
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
    await tenantTable(db, 'audio_assets', {
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
