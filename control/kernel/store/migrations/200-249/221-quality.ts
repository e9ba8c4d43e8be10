import { type Kysely, type Migration, PostgresAdapter, sql } from 'kysely'
import { addColumns, addIndex, createWith, tenantTable } from '../columns.ts'

/** Results of finished calls: summaries, search marks, evaluations; and the search over transcripts. */
export const quality: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addColumns(db, 'organisations', { quality: 'text?' })
    await createReviews(db)
    await createEvaluations(db)
    await createSearch(db)
  },
}

async function createReviews(db: Kysely<unknown>): Promise<void> {
  await createWith(tenantTable(db, 'call_summaries'), {
    id: 'text key',
    call_at: 'text',
    summary: 'text',
    corrected: 'text',
    figures: 'text',
    corrected_at: 'text?',
    corrected_by: 'text?',
    created: 'text',
    updated: 'text',
  })
  await addIndex(db, 'call_summaries_kept', 'call_summaries', ['organisation_id', 'created'])
  await addIndex(db, 'call_summaries_of_time', 'call_summaries', ['organisation_id', 'livemode', 'call_at', 'id'])
  await tenantTable(db, 'call_marks')
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('value', 'text', column => column.notNull())
    .addColumn('call_id', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('call_marks_pk', ['organisation_id', 'livemode', 'kind', 'value', 'call_id'])
    .execute()
  await addIndex(db, 'call_marks_of_call', 'call_marks', ['call_id'])
}

async function createEvaluations(db: Kysely<unknown>): Promise<void> {
  await tenantTable(db, 'qa_evaluations')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('call_id', 'text', column => column.notNull())
    .addColumn('call_at', 'text', column => column.notNull())
    .addColumn('user_id', 'text')
    .addColumn('queue_id', 'text')
    .addColumn('profile_id', 'text')
    .addColumn('profile_version', 'integer')
    .addColumn('rubric', 'text', column => column.notNull())
    .addColumn('status', 'text', column => column.notNull())
    .addColumn('review', 'text', column => column.notNull())
    .addColumn('score', 'real')
    .addColumn('criteria', 'text', column => column.notNull())
    .addColumn('failures', 'text', column => column.notNull())
    .addColumn('reviews', 'text', column => column.notNull())
    .addColumn('history', 'text', column => column.notNull())
    .addColumn('created', 'text', column => column.notNull())
    .addColumn('updated', 'text', column => column.notNull())
    .addUniqueConstraint('qa_evaluations_of_call', ['call_id'])
    .execute()
  const index = (name: string, columns: string[]) =>
    addIndex(db, `qa_evaluations_of_${name}`, 'qa_evaluations', columns)
  await index('time', ['organisation_id', 'livemode', 'call_at', 'id'])
  await index('user', ['organisation_id', 'livemode', 'user_id', 'id'])
  await addIndex(db, 'qa_evaluations_kept', 'qa_evaluations', ['organisation_id', 'created'])
}

/** Read and written by `control/quality/search`. It includes existing transcripts. */
async function createSearch(db: Kysely<unknown>): Promise<void> {
  const isServer = db.getExecutor().adapter instanceof PostgresAdapter
  for (const statement of isServer ? POSTGRES : SQLITE) await sql.raw(statement).execute(db)
}

const OLD = `from transcript_segments join transcripts on transcripts.id = transcript_segments.call_id
  where transcripts.status = 'ready'`
const TENANT = `transcript_segments.organisation_id || case transcript_segments.livemode when 1 then '_live' else '_test' end`

const SQLITE = [
  `create virtual table transcript_search using fts5(
    tenant, call, segment unindexed, text, tokenize = 'porter unicode61 remove_diacritics 2'
  )`,
  `insert into transcript_search (tenant, call, segment, text)
    select ${TENANT}, call_id, transcript_segments.id, text ${OLD}`,
]

const POSTGRES = [
  `create table transcript_search (
    tenant text collate "C" not null,
    call text collate "C" not null,
    segment text collate "C" primary key,
    words tsvector not null
  )`,
  'create index transcript_search_words on transcript_search using gin (words)',
  'create index transcript_search_call on transcript_search (call)',
  `insert into transcript_search (tenant, call, segment, words)
    select ${TENANT}, call_id, transcript_segments.id,
      to_tsvector('kb_words', text) || array_to_tsvector(array['=' || ${TENANT}]) ${OLD}`,
]
