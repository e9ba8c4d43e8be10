import { type Kysely, type Migration, sql } from 'kysely'
import { type Columns, createWith, objectTable } from '../columns.ts'

const RUN: Columns = {
  report_id: 'text',
  status: 'text',
  trigger: 'text',
  period_from: 'text',
  period_to: 'text',
  started_at: 'text',
  finished_at: 'text?',
  error: 'text?',
  csv: 'integer',
  pdf: 'integer',
  recipients: 'text',
  deliveries: 'text',
}

/** A run is there before it is over: `finished_at` may be null, which SQLite cannot alter in place. */
async function unfinishedRuns(db: Kysely<unknown>): Promise<void> {
  await createWith(objectTable(db, 'report_runs_new'), RUN)
  const columns = sql.raw(['id', 'organisation_id', 'livemode', ...Object.keys(RUN)].join(', '))
  await sql`insert into report_runs_new (${columns}) select ${columns} from report_runs`.execute(db)
  await db.schema.dropTable('report_runs').execute()
  await db.schema.alterTable('report_runs_new').renameTo('report_runs').execute()
  const tenant = ['organisation_id', 'livemode']
  await db.schema
    .createIndex('report_runs_by_id')
    .on('report_runs')
    .columns([...tenant, 'id'])
    .execute()
  const byReport = db.schema.createIndex('report_runs_by_report_id_id').on('report_runs')
  await byReport.columns([...tenant, 'report_id', 'id']).execute()
  await db.schema.createIndex('report_runs_finished').on('report_runs').columns(['finished_at']).execute()
}

/** Reports that run by themselves, invitations that can be accepted, and who has been told of a version's sunset. */
export const reportsAndMail: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await unfinishedRuns(db)
    for (const column of ['schedule', 'schedule_timezone', 'next_run_at']) {
      await db.schema.alterTable('reports').addColumn(column, 'text').execute()
    }
    await db.schema.createIndex('reports_next_run').on('reports').columns(['next_run_at']).execute()
    const byTime = db.schema.createIndex('calls_by_created').on('calls')
    await byTime.columns(['organisation_id', 'livemode', 'created', 'id']).execute()
    for (const column of ['token_hash', 'accepted_at']) {
      await db.schema.alterTable('invitations').addColumn(column, 'text').execute()
    }
    await db.schema.createIndex('invitations_token').on('invitations').columns(['token_hash']).unique().execute()
    await db.schema
      .createTable('sunset_notices')
      .addColumn('organisation_id', 'text', column => column.notNull().references('organisations.id'))
      .addColumn('version', 'text', column => column.notNull())
      .addColumn('months', 'integer', column => column.notNull())
      .addColumn('email', 'text', column => column.notNull())
      .addColumn('created', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('sunset_notices_pk', ['organisation_id', 'version', 'months', 'email'])
      .execute()
  },
}
